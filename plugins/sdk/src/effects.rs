//! Every input with an `effect-id` gets exactly one answer, also when the process dies under it.
#![forbid(unsafe_code)]

use crate::bindings::types::{EffectEnded, EffectOutcome, Event, Failure};

/// How far an effect got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing left the host: it surely did not take place.
    Held,
    /// The provider was told: it may have taken place.
    Sent,
}

/// Effects that wait for their answer.
#[derive(Debug, Default)]
pub struct Effects {
    open: Vec<(String, Reach)>,
}

impl Effects {
    /// Begins to wait.
    pub fn begin(&mut self, effect_id: &str) {
        self.open.push((effect_id.to_owned(), Reach::Held));
    }

    /// The provider was told.
    pub fn sent(&mut self, effect_id: &str) {
        if let Some((_, reach)) = self.open.iter_mut().find(|(open, _)| open == effect_id) {
            *reach = Reach::Sent;
        }
    }

    /// Stops waiting because another event is the answer.
    pub fn settle(&mut self, effect_id: &str) -> Option<Reach> {
        let position = self.open.iter().position(|(open, _)| open == effect_id)?;
        Some(self.open.remove(position).1)
    }

    /// The answer to one effect, unless it had one.
    pub fn end(&mut self, effect_id: &str, outcome: EffectOutcome) -> Option<Event> {
        self.settle(effect_id)?;
        Some(ended(effect_id, outcome))
    }

    /// The answer to one effect that did not come about: refused if it was held, failed if the provider was told.
    pub fn fail(&mut self, effect_id: &str, failure: &Failure) -> Option<Event> {
        let reach = self.settle(effect_id)?;
        Some(ended(effect_id, outcome_of(reach, failure.clone())))
    }

    /// The answers to all that still wait, oldest first.
    pub fn fail_all(&mut self, failure: &Failure) -> Vec<Event> {
        std::mem::take(&mut self.open)
            .into_iter()
            .map(|(effect_id, reach)| ended(&effect_id, outcome_of(reach, failure.clone())))
            .collect()
    }
}

fn outcome_of(reach: Reach, failure: Failure) -> EffectOutcome {
    match reach {
        Reach::Held => EffectOutcome::Refused(failure),
        Reach::Sent => EffectOutcome::Failed(failure),
    }
}

fn ended(effect_id: &str, outcome: EffectOutcome) -> Event {
    Event::EffectEnded(EffectEnded {
        effect_id: effect_id.to_owned(),
        outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::Effects;
    use crate::bindings::types::{EffectOutcome, Event};
    use crate::failure;

    #[test]
    fn each_effect_is_answered_once_and_says_whether_it_may_have_happened() {
        let mut effects = Effects::default();
        for id in ["held", "sent", "done", "other"] {
            effects.begin(id);
        }
        effects.sent("sent");
        assert!(effects.end("done", EffectOutcome::Done).is_some());
        assert!(effects.end("done", EffectOutcome::Done).is_none());
        assert!(effects.settle("other").is_some());
        let failure = failure::transport("gone");
        let outcomes: Vec<_> = effects
            .fail_all(&failure)
            .into_iter()
            .map(|event| match event {
                Event::EffectEnded(ended) => (ended.effect_id, ended.outcome),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            outcomes,
            [
                ("held".to_owned(), EffectOutcome::Refused(failure.clone())),
                ("sent".to_owned(), EffectOutcome::Failed(failure.clone())),
            ]
        );
        assert!(effects.fail_all(&failure).is_empty());
    }
}
