//! Test suite that every connector must pass. Cases are selected by the connector's
//! [`Capabilities`](galatea_core::Capabilities).
//!
//! A connector's `tests/suite.rs` implements [`ConnectorHarness`] over a loopback platform and
//! writes `galatea_testkit::connector_suite!(MyHarness);`. Each case runs on a single-threaded
//! runtime of its own, so that one log capture sees every line and can be searched for secrets.

pub mod cases;
mod gateway;
mod harness;
mod log;
mod outcome;
pub mod running;
mod scene;

use std::{future::Future, time::Duration};

pub use self::outcome::Outcome;
pub use gateway::RecordingGateway;
pub use harness::{ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind};
pub use log::CapturedLog;
pub use running::Running;
pub use scene::Scene;

/// Limit for one case. No case waits for real time, so only a hanging case reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs one case; [`connector_suite!`](crate::connector_suite!) calls it.
///
/// # Panics
/// When the case fails or does not end within a minute.
pub fn run<F: Future<Output = Outcome>>(case: impl FnOnce() -> F) {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = built.unwrap_or_else(|e| panic!("no runtime: {e}"));
    let outcome = runtime.block_on(async { tokio::time::timeout(PATIENCE, case()).await });
    match outcome {
        Ok(Outcome::Holds) => {}
        Ok(Outcome::NotApplicable(why)) => eprintln!("not applicable: {why}"),
        Err(_) => panic!("the case did not end within {PATIENCE:?}"),
    }
}

/// Generates the suite's tests for a [`ConnectorHarness`]. The `local` variant leaves out the cases
/// that need a platform across a network: failures, limits, refusals, secrets.
#[macro_export]
macro_rules! connector_suite {
    (local $harness:ty) => {
        $crate::connector_suite!(@cases $harness:
            receive::receives_a_direct_message
            receive::receives_a_group_message
            receive::receives_a_thread_message
            receive::flags_mentions
            receive::flags_replies
            receive::tells_edits
            receive::tells_deletions
            receive::tells_reactions
            receive::tells_presses
            receive::keeps_order_in_a_room
            cursor::acknowledges_only_what_is_stored
            cursor::brings_again_what_was_not_stored
            cursor::duplicates_are_harmless
            cursor::brings_what_was_said_while_away
            send::registers_its_handler_before_the_first_event
            send::encoding_is_pure
            send::sends_text
            send::sends_long_text_whole
            send::sends_long_code_as_code
            send::replies_to_the_right_message
            send::edits
            send::deletes
            send::reacts
            send::shows_buttons
            send::sends_files
            send::shows_typing
            lifecycle::stops_promptly
            lifecycle::reports_its_health
        );
    };
    ($harness:ty) => {
        $crate::connector_suite!(local $harness);
        $crate::connector_suite!(@cases $harness:
            faults::slow_down_is_rate_limited_with_its_time
            faults::a_server_error_may_have_been_sent
            faults::a_lost_response_may_have_been_sent
            faults::a_refusal_is_final
            faults::finds_what_was_sent
            faults::finds_nothing_where_nothing_was_sent
            lifecycle::survives_an_unreachable_platform
            lifecycle::tells_no_secret
        );
    };
    (@cases $harness:ty: $($module:ident :: $case:ident)*) => {
        $(
            #[test]
            fn $case() {
                $crate::connector_suite::run($crate::connector_suite::cases::$module::$case::<$harness>);
            }
        )*
    };
}
