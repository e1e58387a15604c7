//! Named places at which a test lets the program die, so that every step of a message's way is
//! crashed at on purpose.

/// Dies here, as by `kill -9` (no destructors, nothing flushed), when `FAILPOINTS` says so:
/// `FAILPOINTS="commit.after=1*off->return"` is the second time here (syntax of the crate `fail`).
/// Without `fail`'s feature `failpoints`, which only tests of the program switch on, this is
/// nothing.
#[inline(always)]
pub fn kill_point(name: &'static str) {
    fail::fail_point!(name, |_| std::process::abort());
    // Without the feature the name is unused.
    let _ = name;
}

/// Reads `FAILPOINTS`; called once, when the program begins. Nothing in a program built for use.
pub fn arm_kill_points() {
    if fail::has_failpoints() {
        // Dropped, it would disarm them again.
        std::mem::forget(fail::FailScenario::setup());
    }
}
