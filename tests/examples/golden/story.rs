//! What happens in the store.

use std::path::Path;

use anyhow::{Result, bail};
use domain::command::{AddProject, Answer, Command};
use domain::error::DenialCode;
use domain::ids::ProjectId;
use domain::item::ItemKind;
use domain::provider_event::{ProviderEvent, TurnOutcome};
use domain::request::{Choice, QuestionAnswer, Reply};

use crate::maker::{Maker, Talk};
use crate::words::{approval, delegate, question};

const MESSAGES: usize = 200;

/// One thread delegates and is woken by the end of its child.
async fn delegation(maker: &mut Maker, project: &ProjectId) -> Result<Talk> {
    let parent = maker.thread(project, "Make the parser fast.").await?;
    maker.start_turn(&parent).await?;
    let refused = maker.ask(delegate(&parent.thread, 0)).await?;
    let code = refused.map_err(|denial| denial.code);
    if code != Err(DenialCode::InvalidRequest) {
        bail!("a depth of 0 was taken: {code:?}");
    }
    let Answer::Delegated {
        task_id,
        child_thread_id,
        child_run_id,
    } = maker.told(delegate(&parent.thread, 4)).await?
    else {
        bail!("not delegated")
    };
    let child = Talk {
        thread: child_thread_id,
        run: child_run_id,
    };
    maker.start_turn(&child).await?;
    maker
        .item(&child, ItemKind::Reasoning, "It copies strings.")
        .await?;
    maker
        .item(&child, ItemKind::Command, "test result: ok")
        .await?;
    maker.streams(&child).await?;
    maker
        .end_turn(&child, "It copies each token three times.")
        .await?;
    maker
        .end_turn(&parent, "A child looks into it; I wait.")
        .await?;
    let wake = maker.starting(&parent.thread)?;
    maker.start_turn(&wake).await?;
    maker
        .told(Command::AcknowledgeTask {
            task_id: task_id.clone(),
        })
        .await?;
    maker
        .end_turn(&wake, "The tokens are copied: I borrow them.")
        .await?;
    Ok(parent)
}

/// Another thread asks a person, and is cut off by the end of its host with a request open.
async fn cut_off(maker: &mut Maker, project: &ProjectId) -> Result<Talk> {
    let talk = maker.thread(project, "Clean up the build.").await?;
    maker.start_turn(&talk).await?;
    let allowed = maker
        .ask_person(&talk, "request-approval", approval())
        .await?;
    let accept = Reply::Decision {
        choice: Choice::Accept,
        message: None,
    };
    maker.respond(allowed, accept).await?;
    let asked = maker
        .ask_person(&talk, "request-question", question())
        .await?;
    let answer = Reply::Answers(vec![QuestionAnswer {
        question_id: "which".to_owned(),
        values: vec!["the one for scripts".to_owned()],
    }]);
    maker.respond(asked, answer).await?;
    maker.end_turn(&talk, "It is clean.").await?;
    Ok(talk)
}

pub(crate) async fn make(file: &Path) -> Result<()> {
    let mut maker = Maker::open(file, 1).await?;
    let add = Command::AddProject(AddProject {
        name: "golden".to_owned(),
        root: "/src/golden".to_owned(),
    });
    let Answer::Project { project_id } = maker.told(add).await? else {
        bail!("no Project")
    };
    maker
        .report(ProviderEvent::ProcessStarted {
            pid: 4_711,
            start_ticks: 123_456,
        })
        .await?;
    let parent = delegation(&mut maker, &project_id).await?;
    let cut = cut_off(&mut maker, &project_id).await?;

    // The last message is that of the run that is cut off.
    let mut turn = 0;
    while maker.messages()? + 2 < MESSAGES {
        turn += 1;
        let thread = if turn % 3 == 0 { &cut } else { &parent };
        let text = format!("Go on with step {turn}: naïve café, 日本語, 🙂.");
        let talk = maker.send(&thread.thread.clone(), &text).await?;
        maker.start_turn(&talk).await?;
        maker
            .end_turn(&talk, &format!("Step {turn} is done."))
            .await?;
    }
    while maker.messages()? < MESSAGES {
        let talk = maker.send(&cut.thread, "And once more.").await?;
        if maker.messages()? == MESSAGES {
            maker.start_turn(&talk).await?;
            maker.ask_person(&talk, "request-open", approval()).await?;
        } else {
            maker.start_turn(&talk).await?;
            maker
                .report(ProviderEvent::TurnEnded {
                    run_id: talk.run.clone(),
                    outcome: TurnOutcome::Interrupted,
                    native_point: None,
                })
                .await?;
        }
    }
    maker.running.stop().await?;

    // The next host settles what the first left.
    let maker = Maker::open(file, 2).await?;
    maker.running.stop().await?;
    redb::Database::open(file)?.compact()?;
    Ok(())
}
