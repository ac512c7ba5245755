//! People's half of a host under test, without a program call for each word.

use std::collections::BTreeSet;

use server::local::client::{Client, ClientError};
use server::local::wire::{Change, FeedLine, ThreadRowView};

use super::PATIENCE;
use super::host::TestHost;

impl TestHost {
    /// A person at this host's local socket. It outlives the server: a call then says that nobody listens.
    pub(crate) fn person(&self) -> Client {
        Client::new(&self.folder().join("data"))
    }
}

/// Every thread there is.
pub(crate) async fn all_threads(person: &Client) -> Result<Vec<ThreadRowView>, ClientError> {
    const PAGE: usize = 100;
    let mut threads = Vec::new();
    loop {
        let page = person.threads(threads.len(), PAGE).await?;
        let last = page.len() < PAGE;
        threads.extend(page);
        if last {
            return Ok(threads);
        }
    }
}

/// Reads what happens after a place in the journal until something wanted did.
pub(crate) async fn wait_for<T>(
    person: &Client,
    after: u64,
    wanted: impl Fn(&Change) -> Option<T>,
) -> Result<T, ClientError> {
    let mut feed = person.feed(after).await?;
    loop {
        let next = tokio::time::timeout(PATIENCE, feed.next()).await;
        let Some(FeedLine { change, .. }) = next.expect("it did not come in time")? else {
            return Err(ClientError::Broken("the feed ended".to_owned()));
        };
        if let Some(found) = wanted(&change) {
            return Ok(found);
        }
    }
}

/// Waits until no run of any thread is open, and answers the threads.
pub(crate) async fn all_settled(person: &Client) -> Result<Vec<ThreadRowView>, ClientError> {
    let mut after = 0;
    loop {
        let threads = all_threads(person).await?;
        let open: BTreeSet<String> = threads
            .iter()
            .filter_map(|row| row.latest_run.as_ref())
            .filter(|run| !run.status.is_terminal())
            .map(|run| run.id.clone())
            .collect();
        let Some(one) = open.first() else {
            return Ok(threads);
        };
        // The end of one of them is to come, or came between the list and now.
        after = wait_for_end(person, after, one).await?;
    }
}

async fn wait_for_end(person: &Client, after: u64, run_id: &str) -> Result<u64, ClientError> {
    let mut feed = person.feed(after).await?;
    loop {
        let next = tokio::time::timeout(PATIENCE, feed.next()).await;
        let next = next.unwrap_or_else(|_| panic!("the run {run_id} does not end"))?;
        match next {
            Some(FeedLine {
                sequence,
                change: Change::Run(run),
            }) if run.id == run_id && run.status.is_terminal() => return Ok(sequence),
            Some(_) => {}
            None => return Err(ClientError::Broken("the feed ended".to_owned())),
        }
    }
}
