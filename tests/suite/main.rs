//! The test suite: the product as its users meet it.

mod delegation;
mod house;
mod support;
