//! Tests the connector suite itself: a correct toy connector passes every case, and a connector
//! with a bug fails the case for that bug.

mod connector;
mod platform;
mod split;

use galatea_testkit::connector_suite::{cases, run};

use connector::{Bug, Toy};

galatea_testkit::connector_suite!(Toy<{ Bug::NONE }>);

macro_rules! caught {
    ($($name:ident: $bug:ident in $module:ident::$case:ident, $expected:literal;)*) => {$(
        #[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            run(cases::$module::$case::<Toy<{ Bug::$bug }>>);
        }
    )*};
}

caught! {
    early_acknowledgement_is_caught: ACKNOWLEDGES_EARLY in cursor::acknowledges_only_what_is_stored, "acknowledged before it was stored";
    a_skipped_refusal_is_caught: SKIPS_REFUSED in cursor::brings_again_what_was_not_stored, "assertion";
    a_wrong_room_is_caught: WRONG_ROOM in receive::receives_a_group_message, "room";
    a_mention_by_name_is_caught: MENTION_BY_NAME in receive::flags_mentions, "a name is not a mention";
    a_missing_reply_target_is_caught: NO_REPLY_TARGET in receive::flags_replies, "assertion";
    a_late_handler_is_caught: LATE_HANDLER in send::registers_its_handler_before_the_first_event, "assertion";
    lost_text_is_caught: LOSES_TEXT in send::sends_long_text_whole, "parts";
    broken_fences_are_caught: BREAKS_FENCES in send::sends_long_code_as_code, "an open fence";
    a_retry_inside_is_caught: RETRIES_INSIDE in faults::a_lost_response_may_have_been_sent, "the send must fail";
    a_denied_unknown_outcome_is_caught: DENIES_UNKNOWN_OUTCOME in faults::a_lost_response_may_have_been_sent, "assertion";
    an_ignored_wait_is_caught: IGNORES_WAIT in faults::slow_down_is_rate_limited_with_its_time, "retry must be After";
    a_wishful_read_back_is_caught: FINDS_EVERYTHING in faults::finds_nothing_where_nothing_was_sent, "assertion";
    a_told_secret_is_caught: TELLS_SECRET in lifecycle::tells_no_secret, "a secret is shown";
    a_logged_secret_is_caught: LOGS_SECRET in lifecycle::tells_no_secret, "a secret is shown";
    a_deaf_connector_is_caught: IGNORES_STOP in lifecycle::stops_promptly, "did not return within";
    an_unstable_encoding_is_caught: UNSTABLE in send::encoding_is_pure, "assertion";
}
