use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::error::ScriptError;
use crate::limits;
use crate::step::{Consumer, Step};

/// Begins a script inside a message.
pub const MARKER: &str = "script:";

/// Stands between two steps.
const SEPARATOR: &str = ";;";

/// The steps of one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    steps: Vec<Step>,
}

impl Script {
    /// Reads the script of a message: everything after the first [`MARKER`]. `None`: the message has no
    /// script.
    ///
    /// # Errors
    /// [`ScriptError`] names the first step that can't be read.
    pub fn find(message: &str) -> Option<Result<Self, ScriptError>> {
        let (_, text) = message.split_once(MARKER)?;
        Some(Self::parse(text))
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Checks that a consumer plays every step, so that a wrong script fails before its first step.
    ///
    /// # Errors
    /// [`ScriptError::UnsupportedStep`] names the first step that it doesn't play.
    pub fn check(&self, consumer: Consumer) -> Result<(), ScriptError> {
        let known = consumer.step_names();
        match self
            .steps
            .iter()
            .position(|step| !known.contains(&step.name()))
        {
            None => Ok(()),
            Some(index) => Err(ScriptError::UnsupportedStep {
                number: index + 1,
                name: self.steps.get(index).map_or("", Step::name),
                consumer,
            }),
        }
    }

    fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            if steps.len() == limits::STEPS_MAX {
                return Err(ScriptError::TooManySteps);
            }
            let (step, after) = parse_step(rest.trim_start(), steps.len() + 1)?;
            steps.push(step);
            match after {
                // A separator after the last step is no further step.
                Some(after) if !after.trim().is_empty() => rest = after,
                _ => return Ok(Self { steps }),
            }
        }
    }
}

/// One step, and what stands behind the separator after it (`None`: no separator).
type Parsed<'a> = Result<(Step, Option<&'a str>), ScriptError>;

fn parse_step(text: &str, number: usize) -> Parsed<'_> {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let argument = Argument { number, rest };
    match name {
        "say" => argument
            .text("say")
            .map(|(text, after)| (Step::Say(text), after)),
        "think" => argument.think(),
        "slow" => argument.slow(),
        "call" => argument.call(),
        "custom" => argument.custom(),
        "shell" => argument.shell(),
        "fail" => argument
            .whole("fail", limits::STATUS_RANGE)
            .map(|(status, after)| (Step::Fail { status }, after)),
        "failonce" => argument
            .whole("failonce", limits::STATUS_RANGE)
            .map(|(status, after)| (Step::FailOnce { status }, after)),
        "cut" => argument.nothing("cut", Step::Cut),
        "approve" => argument
            .text("approve")
            .map(|(title, after)| (Step::Approve { title }, after)),
        "ask" => argument.ask(),
        "hang" => argument.nothing("hang", Step::Hang),
        "noise" => argument
            .whole("noise", 1..=limits::REPEATS_MAX)
            .map(|(lines, after)| (Step::Noise { lines }, after)),
        "exit" => argument.exit(),
        "crash" => argument.nothing("crash", Step::Crash),
        "flood" => argument
            .whole("flood", 1..=limits::FLOOD_BYTES_MAX)
            .map(|(bytes, after)| (Step::Flood { bytes }, after)),
        "" if text.is_empty() || text.starts_with(SEPARATOR) => {
            Err(ScriptError::EmptyStep { number })
        }
        _ => Err(ScriptError::UnknownStep {
            number,
            name: first_word(text).to_owned(),
        }),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or(text)
}

/// What stands behind a step's name.
struct Argument<'a> {
    number: usize,
    rest: &'a str,
}

impl<'a> Argument<'a> {
    fn bad(&self, name: &'static str, problem: impl Into<String>) -> ScriptError {
        ScriptError::BadArgument {
            number: self.number,
            name,
            problem: problem.into(),
        }
    }

    /// Text up to the separator, trimmed; it may be empty.
    fn raw(&self) -> (&'a str, Option<&'a str>) {
        match self.rest.split_once(SEPARATOR) {
            Some((text, after)) => (text.trim(), Some(after)),
            None => (self.rest.trim(), None),
        }
    }

    fn text(&self, name: &'static str) -> Result<(String, Option<&'a str>), ScriptError> {
        match self.raw() {
            ("", _) => Err(self.bad(name, "needs a text")),
            (text, after) => Ok((text.to_owned(), after)),
        }
    }

    /// A text written as a JSON string: so it may hold separators and line ends.
    fn quoted(&self) -> Option<(String, Option<&'a str>)> {
        let text = self.rest.trim_start();
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let Some(Ok(Value::String(quoted))) = values.next() else {
            return None;
        };
        let after = end_of_step(text.get(values.byte_offset()..)?)?;
        Some((quoted, after))
    }

    fn shell(&self) -> Parsed<'a> {
        let (command, after) = self.quoted().map_or_else(|| self.text("shell"), Ok)?;
        Ok((Step::Shell(command), after))
    }

    fn nothing(&self, name: &'static str, step: Step) -> Parsed<'a> {
        match self.raw() {
            ("", after) => Ok((step, after)),
            (text, _) => Err(self.bad(name, format!("takes nothing, but `{text}` follows"))),
        }
    }

    fn whole<N>(
        &self,
        name: &'static str,
        range: RangeInclusive<N>,
    ) -> Result<(N, Option<&'a str>), ScriptError>
    where
        N: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let (text, after) = self.raw();
        match text.parse::<N>() {
            Ok(number) if range.contains(&number) => Ok((number, after)),
            _ => Err(self.bad(
                name,
                format!(
                    "takes one number from {} to {}, not `{text}`",
                    range.start(),
                    range.end()
                ),
            )),
        }
    }

    fn exit(&self) -> Parsed<'a> {
        let (code, after) = self.whole("exit", limits::EXIT_CODE_RANGE)?;
        let code = u8::try_from(code).map_err(|_| self.bad("exit", "takes a code up to 255"))?;
        Ok((Step::Exit { code }, after))
    }

    fn think(&self) -> Parsed<'a> {
        let (text, after) = self.raw();
        match text.split_once("::") {
            Some((reasoning, text)) if !reasoning.trim().is_empty() && !text.trim().is_empty() => {
                let step = Step::Think {
                    reasoning: reasoning.trim().to_owned(),
                    text: text.trim().to_owned(),
                };
                Ok((step, after))
            }
            _ => Err(self.bad("think", "needs `REASONING :: ANSWER`")),
        }
    }

    fn slow(&self) -> Parsed<'a> {
        let (text, after) = self.raw();
        let problem = || {
            let pause_ms_max = limits::PAUSE_MAX.as_millis();
            let chunks_max = limits::REPEATS_MAX;
            self.bad(
                "slow",
                format!("needs `CHUNKS MS`, at most {chunks_max} and {pause_ms_max}, not `{text}`"),
            )
        };
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(chunks)), Some(Ok(pause_ms)), None) =
            (words.next(), words.next(), words.next())
        else {
            return Err(problem());
        };
        let pause = Duration::from_millis(pause_ms);
        if chunks == 0 || chunks > limits::REPEATS_MAX || pause > limits::PAUSE_MAX {
            return Err(problem());
        }
        Ok((Step::Slow { chunks, pause }, after))
    }

    fn ask(&self) -> Parsed<'a> {
        let (text, after) = self.raw();
        let (question, options) = text.split_once("::").unwrap_or((text, ""));
        let options: Vec<String> = options
            .split('|')
            .map(|option| option.trim().to_owned())
            .filter(|option| !option.is_empty())
            .collect();
        if question.trim().is_empty() || options.len() > limits::OPTIONS_MAX {
            let max = limits::OPTIONS_MAX;
            return Err(self.bad(
                "ask",
                format!("needs `TEXT :: OPTION | OPTION`, at most {max} options"),
            ));
        }
        Ok((
            Step::Ask {
                text: question.trim().to_owned(),
                options,
            },
            after,
        ))
    }

    /// The tool's name, and what follows it.
    fn tool(&self, name: &'static str) -> Result<(String, &'a str), ScriptError> {
        let text = self.rest.trim_start();
        let end = text
            .find(|c: char| c.is_whitespace() || c == '{' || c == ';')
            .unwrap_or(text.len());
        match text.split_at(end) {
            ("", _) => Err(self.bad(name, "needs the name of a tool")),
            (tool, rest) => Ok((tool.to_owned(), rest.trim_start())),
        }
    }

    fn call(&self) -> Parsed<'a> {
        let (tool, rest) = self.tool("call")?;
        if let Some(after) = end_of_step(rest) {
            let arguments = Value::Object(serde_json::Map::new());
            return Ok((Step::Call { tool, arguments }, after));
        }
        // The parser finds the end of the JSON, so a separator or a whole script inside one of its
        // strings is no end.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let arguments = match values.next() {
            Some(Ok(arguments @ Value::Object(_))) => arguments,
            Some(Err(error)) => {
                return Err(self.bad(
                    "call",
                    format!("{tool}: the arguments aren't JSON: {error}"),
                ));
            }
            _ => return Err(self.bad("call", format!("{tool}: the arguments aren't an object"))),
        };
        let rest = rest.get(values.byte_offset()..).unwrap_or_default();
        match end_of_step(rest) {
            Some(after) => Ok((Step::Call { tool, arguments }, after)),
            None => Err(self.bad(
                "call",
                format!(
                    "{tool}: `;;` or the end must follow the arguments, not `{}`",
                    first_word(rest)
                ),
            )),
        }
    }

    fn custom(&self) -> Parsed<'a> {
        let (tool, rest) = self.tool("custom")?;
        let argument = Argument {
            number: self.number,
            rest,
        };
        if let Some((input, after)) = argument.quoted() {
            return Ok((Step::Custom { tool, input }, after));
        }
        // Scripts are written on one line; a patch has many.
        let (input, after) = argument.text("custom")?;
        Ok((
            Step::Custom {
                tool,
                input: input.replace("\\n", "\n"),
            },
            after,
        ))
    }
}

/// If a step ends here: what stands behind its separator, if there is one.
fn end_of_step(text: &str) -> Option<Option<&str>> {
    let text = text.trim_start();
    if text.is_empty() {
        Some(None)
    } else {
        text.strip_prefix(SEPARATOR).map(Some)
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
