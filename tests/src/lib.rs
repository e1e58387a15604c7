//! Empty library: this package exists for its integration tests in `tests/tests` and the recordings
//! in `tests/replay`.
