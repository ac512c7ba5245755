//! Answering one command of a batch: its receipt, else the rules.

use domain::command::{Answer, Command};
use domain::decide::{Moment, decide};
use domain::error::{Denial, DenialCode};
use domain::ids::RequestKey;

use super::thread::{Outgoing, Writer};
use super::{Answered, CommandKey, Replay};
use crate::store::{Batch, Outcome, Receipt, StoreError};

impl Writer {
    /// The answer to a command: a stored one if its key was used before.
    pub(super) fn answer(
        &self,
        batch: &mut Batch<'_>,
        key: Option<&CommandKey>,
        command: &Command,
        outgoing: &mut Outgoing,
    ) -> Result<Result<Answered, Denial>, StoreError> {
        if let Some(key) = key
            && let Some(receipt) = batch.receipt(&key.request)?
        {
            return Ok(replay(receipt, key));
        }
        let decided = self.decide(batch, key.map(|key| &key.request), command, outgoing)?;
        let sequence = batch.ends().sequence;
        if let Some(key) = key {
            self.put_receipt(batch, key, &decided, sequence)?;
        }
        Ok(decided.map(|answer| Answered {
            answer,
            replay: Replay::First,
            sequence,
        }))
    }

    /// Everything a command reads is read before anything of it is written: redb can't roll back
    /// one command of a batch.
    pub(super) fn decide(
        &self,
        batch: &mut Batch<'_>,
        key: Option<&RequestKey>,
        command: &Command,
        outgoing: &mut Outgoing,
    ) -> Result<Result<Answer, Denial>, StoreError> {
        let now = self.parts.clock.now();
        let moment = Moment::new(now, self.parts.ids.bits());
        let decision = match decide(batch.view(), command, moment)? {
            Ok(decision) => decision,
            Err(denial) => return Ok(Err(denial)),
        };
        for event in &decision.events {
            batch.append(now, key, event)?;
            outgoing.touched.extend(event.thread_id().cloned());
        }
        for effect in decision.effects {
            let number = batch.push_effect(&effect)?;
            outgoing.effects.push((number, effect));
        }
        Ok(Ok(decision.answer))
    }

    /// A refusal that may pass leaves no receipt, so that a later try can succeed.
    fn put_receipt(
        &self,
        batch: &mut Batch<'_>,
        key: &CommandKey,
        decided: &Result<Answer, Denial>,
        sequence: u64,
    ) -> Result<(), StoreError> {
        let outcome = match decided {
            Ok(answer) => Outcome::Accepted {
                answer: answer.clone(),
                sequence,
            },
            Err(denial) if denial.code.is_retryable() => return Ok(()),
            Err(denial) => Outcome::Refused(denial.clone()),
        };
        let at = self.parts.clock.now();
        batch.put_receipt(
            &key.request,
            &Receipt {
                digest: key.digest.clone(),
                at,
                outcome,
            },
        )
    }
}

/// The stored answer, if the key was used for this same call.
fn replay(receipt: Receipt, key: &CommandKey) -> Result<Answered, Denial> {
    if receipt.digest != key.digest {
        return Err(Denial::new(
            DenialCode::KeyConflict,
            format!(
                "the request key {:?} was used for another call: use a new key for a new call",
                key.request.key
            ),
        ));
    }
    match receipt.outcome {
        Outcome::Accepted { answer, sequence } => Ok(Answered {
            answer,
            replay: Replay::Repeated,
            sequence,
        }),
        Outcome::Refused(denial) => Err(denial),
    }
}
