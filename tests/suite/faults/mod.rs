//! Bad input and faults: each ends in a sentence that names cause and remedy, nothing hangs, and others go on.

mod agents;
mod codex;
mod configuration;
mod drivers;
mod fake;
mod floods;
mod hostile;
mod silence;
