//! Home of the test suite; the tests are in `suite`.
