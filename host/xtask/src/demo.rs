//! being written
use clap::Args;
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {}
pub(crate) fn task(_: &DemoArguments) -> anyhow::Result<()> {
    Ok(())
}
