//! The test suite: the product as its users meet it.

mod contract;
mod crash;
mod delegation;
mod house;
mod interface;
mod migration;
mod support;
