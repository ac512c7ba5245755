//! The agent as the host sees it: lines in, lines out.

mod harness;

use serde_json::{Value, json};

use harness::{Agent, McpServer};

/// Events of a turn, shortened to what the tables compare: `kind` or `kind:detail`.
fn brief(event: &Value) -> String {
    let field = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
    let kind = field("event");
    match kind.as_str() {
        "text" | "text-ended" | "reasoning" | "reasoning-ended" => {
            format!("{kind}:{}", field("text"))
        }
        "tool" => format!(
            "{kind}:{}:{}:{}",
            field("name"),
            field("status"),
            field("result")
        ),
        "approval" => format!("{kind}:{}", field("title")),
        "request-closed" => format!("{kind}:{}", field("reason")),
        "turn-ended" => format!("{kind}:{}:{}", field("outcome"), field("message")),
        _ => kind,
    }
}

#[tokio::test]
async fn hello_tells_the_version() {
    let mut agent = Agent::start();
    agent.say(&json!({"op": "hello"}));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        agent.next().await,
        json!({"event": "hello", "version": version})
    );
}

#[tokio::test]
async fn a_turn_plays_the_script() {
    let table: &[(&str, &[&str])] = &[
        (
            "script: say a b c d e",
            &["text:a b c d ", "text:e", "text-ended:a b c d e", "usage"],
        ),
        (
            "script: think hm :: ok",
            &[
                "reasoning:hm",
                "reasoning-ended:hm",
                "text:ok",
                "text-ended:ok",
                "usage",
            ],
        ),
        (
            "script: slow 2 1",
            &[
                "text:tick 1 ",
                "text:tick 2 ",
                "text-ended:tick 1 tick 2 ",
                "usage",
            ],
        ),
        (
            "script: call any {} ;; say {{last}}",
            &[
                "tool:any:running:-",
                "tool:any:failed:(error) this thread has no MCP server",
                "text:(error) this thread has ",
                "text:no MCP server",
                "text-ended:(error) this thread has no MCP server",
                "usage",
            ],
        ),
    ];
    for (script, expected) in table {
        let mut agent = Agent::start();
        agent.open("t").await;
        let events = agent.turn("t", script).await;
        let events: Vec<String> = events.iter().map(brief).collect();
        let mut whole = vec!["turn-started"];
        whole.extend(*expected);
        whole.push("turn-ended:completed:-");
        assert_eq!(events, whole, "{script}");
    }
}

#[tokio::test]
async fn a_wrong_script_fails_the_turn_with_a_message() {
    let table = [
        ("script: fail 503", "scripted 503"),
        (
            "script: dance",
            "step 1: unknown step `dance`; the known steps are say, think, slow, call, \
            custom, shell, fail, failonce, cut, approve, ask, hang, noise, exit, crash, flood",
        ),
        (
            "script: say a ;; shell ls",
            "step 2: `shell` can't be played by the scripted agent; it plays \
            say, think, slow, call, fail, failonce, cut, approve, ask, hang, noise, exit, crash, flood",
        ),
    ];
    for (script, message) in table {
        let mut agent = Agent::start();
        agent.open("t").await;
        let events = agent.turn("t", script).await;
        let last = events.last().unwrap();
        assert_eq!(
            (&last["outcome"], &last["message"]),
            (&json!("failed"), &json!(message))
        );
    }
}

#[tokio::test]
async fn later_turns_go_on_with_the_script() {
    let mut agent = Agent::start();
    agent.open("t").await;
    let script = "script: say one ;; fail 500 ;; failonce 500 ;; say three";
    let table = [
        (script, "one", "completed"),
        ("go on", "-", "failed"),
        ("go on", "-", "failed"),
        ("go on", "Recovered after one failure.", "completed"),
        ("go on", "three", "completed"),
        ("go on", "Result: none", "completed"),
        ("script: say again", "again", "completed"),
    ];
    for (text, said, outcome) in table {
        let events = agent.turn("t", text).await;
        let ended = events.iter().find(|event| event["event"] == "text-ended");
        assert_eq!(
            ended.map_or("-", |event| event["text"].as_str().unwrap()),
            said,
            "{text}"
        );
        assert_eq!(events.last().unwrap()["outcome"], outcome, "{text}");
    }
}

#[tokio::test]
async fn an_approval_waits_for_the_decision() {
    let table = [
        (
            json!({"decision": "accept"}),
            "completed",
            r#"{"decision":"accept"}"#,
        ),
        (
            json!({"decision": "acceptForSession"}),
            "completed",
            r#"{"decision":"acceptForSession"}"#,
        ),
        (
            json!({"decision": "decline"}),
            "completed",
            r#"{"decision":"decline"}"#,
        ),
        (
            json!({"dismissed": "nobody"}),
            "completed",
            r#"{"dismissed":"nobody"}"#,
        ),
        (json!({"decision": "cancel"}), "interrupted", ""),
    ];
    for (answer, outcome, said) in table {
        let mut agent = Agent::start();
        agent.open("t").await;
        agent.begin("t", "u", "script: approve Delete it? ;; say {{last}}");
        let asked = agent.until("approval").await;
        assert_eq!(asked["title"], "Delete it?");
        agent.answer(&asked["request"], &answer);
        assert_eq!(agent.until("request-closed").await["reason"], "answered");
        let events = agent.rest_of_turn().await;
        assert_eq!(events.last().unwrap()["outcome"], outcome);
        let text = events.iter().find(|event| event["event"] == "text-ended");
        assert_eq!(
            text.map_or("", |event| event["text"].as_str().unwrap()),
            said
        );
    }
}

#[tokio::test]
async fn a_question_waits_for_the_answers() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin(
        "t",
        "u",
        "script: ask Which? :: red | blue ;; say {{1.answers.answer.0}}",
    );
    let asked = agent.until("question").await;
    assert_eq!(
        asked["questions"],
        json!([{"id": "answer", "header": "Question", "text": "Which?", "options": ["red", "blue"]}])
    );
    agent.answer(&asked["request"], &json!({"answers": {"answer": ["blue"]}}));
    assert_eq!(agent.until("text-ended").await["text"], "blue");
}

#[tokio::test]
async fn an_answer_that_fits_nothing_is_refused_and_the_request_stays_open() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin("t", "u", "script: approve Sure? ;; say done");
    let request = agent.until("approval").await["request"].clone();
    for answer in [json!({}), json!({"decision": "accept", "dismissed": "x"})] {
        agent.answer(&request, &answer);
        assert_eq!(agent.until("answer-refused").await["request"], request);
    }
    agent.answer(&request, &json!({"decision": "perhaps"}));
    agent.until("error").await;
    agent.answer(&json!("other"), &json!({"decision": "accept"}));
    assert_eq!(agent.until("answer-refused").await["request"], "other");
    agent.answer(&request, &json!({"decision": "accept"}));
    agent.until("request-closed").await;
    assert_eq!(agent.until("text-ended").await["text"], "done");
}

#[tokio::test]
async fn steered_text_ends_a_step_that_only_takes_time() {
    for step in ["hang", "slow 1000 60000"] {
        let mut agent = Agent::start();
        agent.open("t").await;
        agent.begin("t", "u", &format!("script: {step}"));
        let first = if step == "hang" {
            "turn-started"
        } else {
            "text"
        };
        agent.until(first).await;
        agent.say(&json!({"op": "steer", "turn": "u", "text": "faster"}));
        agent.until("steered").await;
        let events = agent.rest_of_turn().await;
        let ended = events
            .iter()
            .rev()
            .find(|event| event["event"] == "text-ended")
            .unwrap();
        assert_eq!(ended["text"], "Result: none [also heard: faster]", "{step}");
        assert_eq!(events.last().unwrap()["outcome"], "completed");
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_the_step() {
    for (script, first) in [
        ("script: hang ;; say next", "turn-started"),
        ("script: slow 1000 60000 ;; say next", "text"),
        ("script: approve Sure? ;; say next", "approval"),
        ("script: ask Sure? ;; say next", "question"),
        ("script: noise 1000000 ;; say next", "turn-started"),
    ] {
        let mut agent = Agent::start();
        agent.open("t").await;
        agent.begin("t", "u", script);
        agent.until(first).await;
        agent.say(&json!({"op": "interrupt", "turn": "u"}));
        let events = agent.rest_of_turn().await;
        assert_eq!(events.last().unwrap()["outcome"], "interrupted", "{script}");
        // Every open request and text is closed first.
        let briefs: Vec<String> = events.iter().map(brief).collect();
        match first {
            "text" => assert!(
                briefs.contains(&"text-ended:tick 1 ".to_owned()),
                "{briefs:?}"
            ),
            "approval" | "question" => {
                assert!(
                    briefs.contains(&"request-closed:turn-ended".to_owned()),
                    "{briefs:?}"
                );
            }
            _ => {}
        }
        let events = agent.turn("t", "go on").await;
        assert!(
            events.iter().any(|event| event["text"] == "next"),
            "{script}: {events:?}"
        );
    }
}

#[tokio::test]
async fn what_comes_at_the_wrong_time_is_refused() {
    let mut agent = Agent::start();
    agent.open("t").await;
    let table = [
        (
            json!({"op": "steer", "turn": "u", "text": "x"}),
            "steer-refused",
        ),
        (json!({"op": "interrupt", "turn": "u"}), "interrupt-refused"),
        (
            json!({"op": "turn", "thread": "other", "turn": "u", "text": "x"}),
            "turn-refused",
        ),
        (
            json!({"op": "answer", "request": "r", "decision": "accept"}),
            "answer-refused",
        ),
        (json!({"op": "open", "thread": "t"}), "open-failed"),
        (json!({"op": "close", "thread": "other"}), "closed"),
    ];
    for (line, event) in table {
        agent.say(&line);
        assert_eq!(agent.next().await["event"], event, "{line}");
    }
    agent.begin("t", "u", "script: hang");
    agent.until("turn-started").await;
    for turn in ["u", "v"] {
        agent.begin("t", turn, "script: say too early");
        assert_eq!(agent.until("turn-refused").await["turn"], turn);
    }
    // A turn that was refused may be sent again.
    agent.say(&json!({"op": "interrupt", "turn": "u"}));
    agent.until("turn-ended").await;
    agent.begin("t", "v", "script: say now");
    assert_eq!(agent.until("text-ended").await["text"], "now");
}

#[tokio::test]
async fn an_unreadable_line_is_an_error_and_repeats_nothing() {
    let mut agent = Agent::start();
    let table = [
        ("{", "a line is one JSON object; column 1 is wrong"),
        ("no json", "a line is one JSON object; column 2 is wrong"),
        ("{\"secret\":1}", "a line has a field `op`"),
        (
            "{\"op\":\"dance\",\"secret\":1}",
            "the op `dance` is unknown or has a wrong field",
        ),
        (
            "{\"op\":\"open\",\"thread\":[\"secret\"]}",
            "the op `open` is unknown or has a wrong field",
        ),
    ];
    for (line, message) in table {
        agent.write(line);
        assert_eq!(
            agent.next().await,
            json!({"event": "error", "message": message}),
            "{line}"
        );
    }
    agent.say(&json!({"op": "hello"}));
    assert_eq!(agent.next().await["event"], "hello");
}

#[tokio::test]
async fn noise_and_a_flood_stand_between_the_events() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin("t", "u", "script: noise 2 ;; flood 100000 ;; say done");
    let lines = [
        agent.line().await,
        agent.line().await,
        agent.line().await,
        agent.line().await,
    ];
    assert!(lines[0].contains("turn-started"));
    assert_eq!(lines[1], "noise 1: this line is no JSON");
    assert_eq!(lines[2], "noise 2: this line is no JSON");
    assert_eq!(lines[3], "x".repeat(100_000));
    assert_eq!(agent.until("text-ended").await["text"], "done");
}

#[tokio::test]
async fn threads_run_at_the_same_time() {
    let mut agent = Agent::start();
    for thread in ["a", "b"] {
        agent.open(thread).await;
    }
    agent.begin("a", "ua", "script: hang");
    agent.until("turn-started").await;
    agent.begin("b", "ub", "script: say done");
    assert_eq!(agent.until("turn-ended").await["turn"], "ub");
    agent.say(&json!({"op": "interrupt", "turn": "ua"}));
    assert_eq!(agent.until("turn-ended").await["turn"], "ua");
}

#[tokio::test]
async fn a_thread_that_is_opened_again_goes_on() {
    let mut agent = Agent::start();
    let native = agent.open("t").await;
    agent.turn("t", "script: say one ;; say two").await;
    agent.say(&json!({"op": "close", "thread": "t"}));
    agent.until("closed").await;

    agent.say(&json!({"op": "open", "thread": "t2", "native": native}));
    assert_eq!(agent.until("opened").await["native"], native);
    let events = agent.turn("t2", "go on").await;
    assert!(
        events.iter().any(|event| event["text"] == "two"),
        "{events:?}"
    );

    // One that another process knew is taken up without its past.
    agent.say(&json!({"op": "open", "thread": "t3", "native": "from-elsewhere"}));
    assert_eq!(agent.until("opened").await["native"], "from-elsewhere");
    let events = agent.turn("t3", "script: say fresh").await;
    assert!(events.iter().any(|event| event["text"] == "fresh"));
}

#[tokio::test]
async fn closing_a_thread_ends_its_turn() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin("t", "u", "script: hang");
    agent.until("turn-started").await;
    agent.say(&json!({"op": "close", "thread": "t"}));
    assert_eq!(agent.until("turn-ended").await["outcome"], "interrupted");
    agent.until("closed").await;
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_agent() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin("t", "u", "script: hang");
    agent.until("turn-started").await;
    agent.end_input().await;
}

#[tokio::test]
async fn a_host_that_stops_reading_ends_the_agent() {
    let mut agent = Agent::start();
    agent.open("t").await;
    agent.begin("t", "u", "script: noise 1000000");
    agent.until("turn-started").await;
    agent.end_output().await;
}

#[tokio::test]
async fn tools_are_called_in_both_forms_of_mcp() {
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let server = McpServer::start("token-1").await;
        let mut agent = Agent::start();
        agent.open_with("t", &server, "token-1", version).await;
        let script = r#"script: call mcp__t3_code/echo {"text":"hi"} ;; call fail {} ;; call absent {} ;; say {{1.echoed}}, {{2}}"#;
        let events = agent.turn("t", script).await;
        let tools: Vec<(&str, &str)> = events
            .iter()
            .filter(|event| event["event"] == "tool" && event["status"] != "running")
            .map(|event| {
                (
                    event["name"].as_str().unwrap(),
                    event["status"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            tools,
            [
                ("echo", "completed"),
                ("fail", "failed"),
                ("absent", "failed")
            ]
        );
        assert_eq!(events[1]["server"], "t3-code");
        let said = events
            .iter()
            .find(|event| event["event"] == "text-ended")
            .unwrap();
        assert_eq!(said["text"], "hi, it failed", "{version}");
        assert!(
            server.progress_tokens() >= 2,
            "each call carries a progress token"
        );
    }
}

#[tokio::test]
async fn an_interrupt_cancels_the_call_in_flight() {
    for version in ["2025-06-18", "2026-07-28"] {
        let server = McpServer::start("token-1").await;
        let mut agent = Agent::start();
        agent.open_with("t", &server, "token-1", version).await;
        agent.begin("t", "u", "script: call wait {} ;; say {{last}}");
        server.until_waiting().await;
        // Steered text does not end a call.
        agent.say(&json!({"op": "steer", "turn": "u", "text": "faster"}));
        agent.until("steered").await;
        agent.say(&json!({"op": "interrupt", "turn": "u"}));
        let events = agent.rest_of_turn().await;
        let briefs: Vec<String> = events.iter().map(brief).collect();
        assert_eq!(
            briefs,
            [
                "tool:wait:interrupted:(interrupted)",
                "turn-ended:interrupted:-"
            ]
        );
        server.until_cancelled().await;
        let events = agent.turn("t", "go on").await;
        assert!(
            events.iter().any(|event| event["text"] == "(interrupted)"),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn a_thread_whose_tools_cannot_be_reached_is_not_opened() {
    let server = McpServer::start("token-1").await;
    let table = [
        (server.url(), "token-2", "2025-06-18", "can't be used"),
        (
            "http://127.0.0.1:1/mcp".to_owned(),
            "token-1",
            "2025-06-18",
            "can't be used",
        ),
        (
            server.url(),
            "token-1",
            "2020-01-01",
            "the MCP version `2020-01-01` is unknown",
        ),
    ];
    for (url, token, version, message) in table {
        let mut agent = Agent::start();
        agent.say(&harness::open("t", &url, token, version));
        let failed = agent.until("open-failed").await;
        let text = failed["message"].as_str().unwrap();
        assert!(text.contains(message), "{text}");
        assert!(!text.contains(token), "{text}");
        agent.begin("t", "u", "script: say x");
        agent.until("turn-refused").await;
    }
}

#[test]
fn the_documentation_names_every_line() {
    let documentation = include_str!("../../../../docs/scripted-agent.md");
    let ops = [
        "hello",
        "open",
        "turn",
        "steer",
        "interrupt",
        "answer",
        "close",
    ];
    let events = [
        "hello",
        "opened",
        "open-failed",
        "closed",
        "turn-started",
        "turn-refused",
        "text",
        "text-ended",
        "reasoning",
        "reasoning-ended",
        "tool",
        "approval",
        "question",
        "request-closed",
        "answer-refused",
        "steered",
        "steer-refused",
        "interrupt-refused",
        "usage",
        "turn-ended",
        "error",
    ];
    for op in ops {
        assert!(
            documentation.contains(&format!("{{\"op\":\"{op}\"")),
            "{op}"
        );
    }
    for event in events {
        assert!(
            documentation.contains(&format!("{{\"event\":\"{event}\"")),
            "{event}"
        );
    }
}
