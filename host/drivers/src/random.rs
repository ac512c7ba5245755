//! Random bits from the operating system.

/// The system gives no random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random numbers")]
pub(crate) struct NoRandomness;

/// 128 random bits.
pub(crate) fn bits() -> Result<u128, NoRandomness> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(u128::from_ne_bytes(bytes))
}
