//! The host is killed at any moment: what it said is true, and nothing is there twice.

mod ledger;
mod lives;
mod load;
mod moments;
mod orphans;
mod stored;

use model::ModelServer;

use crate::support::{Configuration, TestHost};
use lives::{From, Lives};
use load::Load;

/// Children that end at once, and children at work when the host dies.
const CHILDREN: &[&str] = &["script: say done", "script: slow 20 20"];

const SCRIPTED: Load = Load {
    child: "scripted",
    child_words: "scripted-agent",
    children: CHILDREN,
    people: 2,
};

const CODEX: Load = Load {
    child: "codex",
    child_words: "app-server",
    children: CHILDREN,
    people: 1,
};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_or_doubled_in_10_lives_cut_at_any_moment() {
    let host = TestHost::start(&Configuration::default().scripted().overheard());
    let mut lives = Lives::of(host, SCRIPTED);
    lives.live_in_peace().await;
    for _ in 0..10 {
        lives.live(From::Ready, 0..=900).await;
    }
    let sums = lives.end().await;
    // Otherwise the lives were too short to say anything.
    assert!(sums.threads > 20 && sums.messages > 20, "{sums:?}");
    assert!(sums.runs_at_death > 10 && sums.unheard > 0, "{sums:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_in_10_lives_cut_while_agents_delegate() {
    let host = TestHost::start(&Configuration::default().scripted().overheard());
    let mut lives = Lives::of(host, SCRIPTED);
    lives.live_in_peace().await;
    for _ in 0..10 {
        lives.live(From::Delegation, 0..=600).await;
    }
    let sums = lives.end().await;
    assert!(sums.tasks > 10 && sums.unheard > 0, "{sums:?}");
    assert!(
        sums.agents_at_death > 5 && sums.runs_at_death > 10,
        "{sums:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_in_10_lives_each_followed_by_one_that_is_cut_while_it_comes_up() {
    let host = TestHost::start(&Configuration::default().scripted().overheard());
    let mut lives = Lives::of(host, SCRIPTED);
    lives.live_in_peace().await;
    for _ in 0..10 {
        lives.live(From::Ready, 0..=400).await;
        lives.be_stillborn(0..=90).await;
    }
    let sums = lives.end().await;
    assert!(sums.threads > 10 && sums.runs_at_death > 0, "{sums:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_in_10_lives_with_real_codex_children() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().overheard().codex(&model));
    let mut lives = Lives::of(host, CODEX);
    lives.live_in_peace().await;
    for _ in 0..10 {
        lives.live(From::Delegation, 0..=1_500).await;
    }
    let sums = lives.end().await;
    assert!(sums.tasks > 10, "{sums:?}");
    assert!(
        sums.agents_at_death > 5 && sums.runs_at_death > 5,
        "{sums:?}"
    );
}
