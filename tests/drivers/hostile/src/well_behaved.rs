//! What the guest does when it is told nothing else: a small but whole driver.

use driver_sdk::types::*;

use crate::Guest;

impl Guest {
    pub(crate) fn input(
        &mut self,
        input: Input,
        actions: &mut Vec<Action>,
    ) -> Result<(), DriverError> {
        self.calls += 1;
        match input {
            Input::Begin if self.config.purpose == "probe" => self.probe(actions),
            Input::OpenThread(open) => self.open_thread(open, actions),
            Input::StartTurn(start) => self.start_turn(start, actions)?,
            Input::Steer(steer) => {
                let outcome = match steer.text.as_str() {
                    "refuse" => EffectOutcome::Refused(failure("refused as told")),
                    _ => EffectOutcome::Done,
                };
                self.say(actions, &format!("steered: {}", steer.text));
                actions.push(effect_ended(steer.effect_id, outcome));
            }
            Input::Interrupt(interrupt) => {
                if self.act != "ignores-interrupt" {
                    actions.push(effect_ended(interrupt.effect_id, EffectOutcome::Done));
                    actions.push(turn_ended(interrupt.turn_id, TurnOutcome::Interrupted));
                }
            }
            Input::Answer(answer) => self.answered(answer, actions),
            Input::CloseThread(close) => {
                actions.push(effect_ended(close.effect_id, EffectOutcome::Done));
            }
            Input::Close(_) => {
                if self.process > 0 {
                    actions.push(Action::CloseStdin(self.process));
                    actions.push(Action::Stop(self.process));
                } else {
                    actions.push(session_ended(None));
                }
            }
            Input::Line(line) => self.line(line, actions),
            Input::Exited(exited) => self.exited(exited, actions),
            Input::Timer(_) => self.end_turn(actions, TurnOutcome::Completed),
            _ => {}
        }
        Ok(())
    }

    fn probe(&mut self, actions: &mut Vec<Action>) {
        let mut snapshot = Snapshot {
            installation: "installed".to_owned(),
            version: Some("1.2.3".to_owned()),
            authentication: "authenticated".to_owned(),
            status: "ready".to_owned(),
            models: vec![ModelInfo {
                id: "small".to_owned(),
                label: None,
                preferred: true,
                options: Vec::new(),
                context_tokens_max: None,
                extra: None,
            }],
            runtime_modes: Vec::new(),
            interaction_modes: Vec::new(),
            reason: None,
            extra: None,
        };
        match self.act.as_str() {
            "probe-silent" => return,
            "probe-logged-out" => {
                snapshot.authentication = "unauthenticated".to_owned();
                snapshot.status = "error".to_owned();
                snapshot.reason = Some("Log in with `agent login`.".to_owned());
            }
            "probe-traps" => panic!("the probe panics as told"),
            _ => {}
        }
        actions.push(Action::Emit(Event::Snapshot(snapshot)));
    }

    fn open_thread(&mut self, open: OpenThread, actions: &mut Vec<Action>) {
        self.authorization = open.mcp.map(|mcp| mcp.authorization);
        self.thread = Some(open.thread_id.clone());
        if self.act == "open-thread-refused" {
            let outcome = EffectOutcome::Refused(failure("no thread as told"));
            actions.push(effect_ended(open.effect_id, outcome));
            return;
        }
        if self.act == "open-thread-silent" {
            return;
        }
        let fresh = || format!("native-{}", open.thread_id);
        actions.push(Action::Emit(Event::ThreadReady(ThreadReady {
            native_thread_id: open.native_thread_id.clone().unwrap_or_else(fresh),
            thread_id: open.thread_id,
            resumable: true,
            capabilities: None,
            model: None,
            extra: None,
        })));
    }

    fn start_turn(
        &mut self,
        start: StartTurn,
        actions: &mut Vec<Action>,
    ) -> Result<(), DriverError> {
        self.thread = Some(start.thread_id.clone());
        self.turn = Some(start.turn_id.clone());
        match self.act.as_str() {
            "turn-silent" => return Ok(()),
            "turn-refused" => {
                let outcome = EffectOutcome::Refused(failure("no turn as told"));
                actions.push(effect_ended(start.effect_id, outcome));
                return Ok(());
            }
            "ends-unstarted" => {
                actions.push(turn_ended(start.turn_id, TurnOutcome::Completed));
                return Ok(());
            }
            _ => {}
        }
        actions.push(Action::Emit(Event::TurnStarted(TurnStarted {
            turn_id: start.turn_id,
            native_turn_id: None,
        })));
        if let Some(instructions) = &start.instructions {
            self.say(actions, &format!("instructions: {instructions}"));
        }
        if self.hostile(&start.text, actions)? {
            return Ok(());
        }
        match self.act.as_str() {
            "hold" | "ignores-interrupt" => {}
            "shell" | "token-in-environment" => self.shell(&start.text, actions),
            "ask" => self.ask(actions),
            "timer" => actions.push(Action::SetTimer(SetTimer {
                timer_id: 1,
                delay_ms: 50,
            })),
            _ => {
                self.say(actions, &start.text);
                self.end_turn(actions, TurnOutcome::Completed);
            }
        }
        Ok(())
    }

    fn shell(&mut self, command: &str, actions: &mut Vec<Action>) {
        self.process += 1;
        let environment = match (&self.authorization, self.act.as_str()) {
            (Some(token), "token-in-environment") => vec![EnvironmentVariable {
                name: "HOSTILE_TOKEN".to_owned(),
                value: token.clone(),
            }],
            _ => Vec::new(),
        };
        actions.push(Action::Spawn(Spawn {
            process_id: self.process,
            template: "shell".to_owned(),
            arguments: vec![command.to_owned()],
            environment,
        }));
        let token = self.authorization.clone().unwrap_or_default();
        actions.push(Action::Write(Write {
            process_id: self.process,
            frame: format!("hello {token}"),
        }));
    }

    fn line(&mut self, line: Line, actions: &mut Vec<Action>) {
        if line.text == "TRAP" {
            panic!("a line panics as told");
        }
        let state = match line.state {
            LineState::Whole => "",
            LineState::Unterminated => " (unterminated)",
            LineState::OverLimit => " (over limit)",
        };
        let output = match line.output {
            Output::Stdout => "out",
            Output::Stderr => "err",
        };
        let text: String = line.text.chars().take(1_000).collect();
        self.say(actions, &format!("{output}: {text}{state}"));
    }

    fn exited(&mut self, exited: Exited, actions: &mut Vec<Action>) {
        if self.settings["deaf"].as_bool() == Some(true) {
            return;
        }
        let outcome = match exited.cause {
            ExitCause::Code(0) => TurnOutcome::Completed,
            cause => TurnOutcome::Failed(failure(&format!("the agent ended: {cause:?}"))),
        };
        self.end_turn(actions, outcome);
    }

    fn ask(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Emit(Event::Request(Request {
            request_id: "ask-1".to_owned(),
            thread_id: self.thread.clone().unwrap_or_default(),
            turn_id: self.turn.clone(),
            item_id: None,
            blocking: true,
            prompt: Prompt::Approval(Approval {
                kind: "command".to_owned(),
                title: "rm -rf build".to_owned(),
                reason: None,
                choices: vec![
                    "accept".to_owned(),
                    "decline".to_owned(),
                    "new-word".to_owned(),
                ],
                options: vec![ChoiceOption {
                    option_id: "opt-7".to_owned(),
                    label: "Yes".to_owned(),
                    choice: "accept".to_owned(),
                }],
            }),
            detail_json: "{}".to_owned(),
            extra: None,
        })));
    }

    fn answered(&mut self, answer: Answer, actions: &mut Vec<Action>) {
        self.say(actions, &format!("{:?}", answer.reply));
        actions.push(Action::Emit(Event::RequestClosed(RequestClosed {
            request_id: answer.request_id,
            reason: "answered".to_owned(),
        })));
        self.end_turn(actions, TurnOutcome::Completed);
    }

    pub(crate) fn say(&mut self, actions: &mut Vec<Action>, text: &str) {
        self.calls += 1;
        actions.push(Action::Emit(Event::Item(Item {
            item_id: format!("item-{}", self.calls),
            thread_id: self.thread.clone().unwrap_or_default(),
            turn_id: self.turn.clone(),
            parent_item_id: None,
            kind: "message".to_owned(),
            status: ItemStatus::Completed,
            title: None,
            text: Some(text.to_owned()),
            head: head(),
            body_json: "{}".to_owned(),
            extra: None,
        })));
    }

    pub(crate) fn end_turn(&mut self, actions: &mut Vec<Action>, outcome: TurnOutcome) {
        if let Some(turn) = self.turn.take() {
            actions.push(turn_ended(turn, outcome));
        }
    }
}

pub(crate) fn head() -> ItemHead {
    ItemHead {
        name: None,
        server_name: None,
        path: None,
        exit_code: None,
        lines_added: None,
        lines_removed: None,
        native_item_id: None,
    }
}

pub(crate) fn turn_ended(turn_id: String, outcome: TurnOutcome) -> Action {
    Action::Emit(Event::TurnEnded(TurnEnded {
        turn_id,
        outcome,
        native_point: None,
        native_thread_state: "reusable".to_owned(),
        extra: None,
    }))
}

pub(crate) fn effect_ended(effect_id: String, outcome: EffectOutcome) -> Action {
    Action::Emit(Event::EffectEnded(EffectEnded { effect_id, outcome }))
}

pub(crate) fn session_ended(failure: Option<Failure>) -> Action {
    Action::Emit(Event::SessionEnded(SessionEnded { failure }))
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure {
        class: "provider_error".to_owned(),
        message: message.to_owned(),
        code: None,
        retryable: None,
        extra: None,
    }
}
