//! Test suite that every store must pass: one test per required behaviour, the same for every
//! database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a suite fails by panicking")]

use galatea_core::Store;
use std::{any::Any, sync::Arc};

pub mod audit;
pub mod backlog;
pub mod channels;
pub mod connections;
pub mod console;
pub mod derived;
pub mod embeddings;
pub mod fixtures;
pub mod followers;
pub mod forgotten;
pub mod grants;
pub mod house;
pub mod ingest;
pub mod large;
pub mod leases;
pub mod memories;
pub mod outbox;
pub mod read_back;
pub mod recall;
pub mod requested_changes;
pub mod small;
pub mod steps;
pub mod stored_settings;
pub mod tasks;
pub mod traces;
pub mod turns;
pub mod usage;
pub mod webhooks;

/// An empty store, with a guard that must live as long as the store (a temporary folder, a
/// container).
pub struct Fresh {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Dropped after the test.
    pub guard: Box<dyn Any + Send>,
}

impl Fresh {
    /// A store that needs `guard` while it is in use.
    pub fn keeping(store: impl Store + 'static, guard: impl Any + Send) -> Self {
        Self { store: Arc::new(store), guard: Box::new(guard) }
    }
}

impl<S: Store + 'static> From<S> for Fresh {
    fn from(store: S) -> Self {
        Self::keeping(store, ())
    }
}

/// Generates one `#[tokio::test]` per behaviour. The argument is an async expression that returns
/// an empty store, or a [`Fresh`] with the guard the store needs. The calling crate needs tokio
/// with `macros` and `rt-multi-thread`.
///
/// ```ignore
/// mod suite {
///     galatea_testkit::store_suite!(async { MyStore::in_memory().await.unwrap() });
/// }
/// ```
#[macro_export]
macro_rules! store_suite {
    ($make:expr) => {
        $crate::store_suite! { @each ($make)
            connections: fifty_connects_at_once_make_one_room_with_two_participants, people_of_a_world_are_listed_once, names_told_replace_and_names_missing_keep,
                metadata_is_merged_one_level_deep, newest_names_come_first_without_repeats, rows_of_the_past_add_what_is_missing, a_known_parent_is_kept,
                participants_are_inserted_only_if_absent, participant_states_are_set_and_cleared, an_empty_change_is_fine, worlds_rooms_and_entities_are_listed;
            ingest: a_message_is_stored_once, the_same_message_from_many_tasks_is_stored_once, a_legacy_id_in_the_same_room_is_the_same_message,
                duplicates_within_a_batch_are_seen, a_batch_of_a_thousand_keeps_its_order, the_order_is_that_of_commit,
                connections_memories_and_cursor_are_in_the_same_commit,
                mutations_are_in_the_same_commit, the_cursor_follows_its_batches, connector_state_is_in_the_same_commit, unfinished_is_scoped_and_limited,
                begun_turns_are_counted, accounts_with_waiting_messages_are_told, rows_are_found_by_platform_ids, everything_of_an_entry_is_read_back,
                a_deleted_message_is_not_answered_and_not_new_again;
            turns: a_turn_is_written_whole, of_two_turns_for_one_message_one_wins, a_conflict_writes_nothing, merged_messages_finish_together,
                a_part_is_written_once, a_turn_finishes_its_own_agents_messages_only,
                impossible_turns_are_refused, a_hundred_turns_at_once_lose_nothing, every_message_is_counted_in_one_state;
            requested_changes: effects_are_applied, a_person_is_forgotten, effects_stay_within_their_agent;
            outbox: unsettled_is_in_the_order_of_commit, overdue_parts_of_other_accounts_are_found, accounts_with_open_parts_are_told, the_commit_delivers_a_part_and_tells_of_it, settling_moves_a_row_and_final_states_stay, many_rows_settle_at_once,
                unsettled_is_scoped_and_limited, a_moved_room_takes_everything_along, a_room_moves_into_one_that_exists;
            read_back: a_trail_tells_what_lies_around_a_delivery, a_trail_goes_by_commits_and_not_by_the_clock, a_trail_reaches_back_to_what_waited_long;
            audit: every_message_is_accounted_for, an_answer_is_as_good_as_its_worst_part, operators_decide_where_it_fits, outbox_rows_are_selected,
                an_unknown_outcome_is_stored, gaps_are_listed_with_their_account, the_store_and_the_protocol_agree;
            memories: queries_select_and_order, counting_ignores_the_limit, saved_memories_are_never_overwritten,
                content_is_replaced_for_its_agent_only, memories_are_deleted_for_their_agent_only, another_agents_memories_are_never_returned,
                odd_text_survives, one_page_of_several_kinds,
                ids_that_begin_alike_are_found, deleted_memories_are_known;
            derived: a_derived_memory_keeps_its_sources, a_merged_fact_goes_with_each_of_its_sources, what_was_merged_twice_and_replaced_stays_replaced, nothing_is_derived_from_what_is_gone, a_fact_is_superseded_and_restored, a_fact_is_stored_with_what_replaced_it,
                derived_memories_go_with_their_sources, summaries_outlive_their_oldest_messages, derived_memories_go_with_a_replaced_text, a_derived_memory_is_removed_alone,
                what_was_made_of_a_person_is_forgotten, summaries_that_outlived_messages_are_forgotten;
            backlog: what_waits_is_claimed_once, changed_texts_wait_again,
                older_models_are_known_until_their_embeddings_are_replaced,
                models_that_embedded_pieces_of_documents_are_known;
            followers: an_embedding_goes_with_a_deleted_message_before_it, an_embedding_goes_with_an_edited_message_before_it,
                an_embedding_goes_with_an_expired_message_before_it, an_embedding_goes_with_a_forgotten_message_before_it,
                an_embedding_goes_with_the_message_it_was_made_with, an_embedding_of_words_that_are_gone_is_not_stored;
            forgotten: most_of_a_person_goes_before_the_turn_that_forgets_them, imported_answers_to_a_person_are_forgotten,
                one_of_several_people_in_a_direct_room_is_forgotten, answers_are_found_in_any_json;
            leases: parts_are_shared_out, members_are_counted_by_group, events_reach_the_others, a_lease_ends_by_the_stores_clock, a_process_that_lost_a_part_commits_nothing,
                a_process_that_lost_an_account_settles_only_what_was_sent, leaving_gives_everything_back,
                unfinished_is_listed_by_part, the_oldest_unstarted_message_is_known;
            grants: grants_are_replaced_listed_and_removed, a_forgotten_persons_consents_go, a_moved_rooms_grants_go_along;
            steps: a_step_is_begun_and_gets_its_result, steps_go_with_their_message;
            usage: a_turn_adds_to_the_ledger_in_its_commit, embeddings_bring_their_cost, old_days_of_the_ledger_are_deleted, standings_tell_days_and_holders_apart, many_add_to_one_row_at_once, the_block_list_is_kept;
            console: turns_are_paged_without_gaps_or_repeats, lists_are_filtered, rooms_and_people_are_listed,
                deliveries_are_listed_and_counted, characters_are_read_back;
            house: an_owner_remains, credentials_end, a_refresh_token_is_taken_once, a_link_is_taken_once, changes_and_answers_are_kept,
                live_events_are_numbered_and_bounded;
            channels: channels_and_their_people_are_kept, messages_of_channels_are_kept,
                sessions_are_renewed_once_and_end, a_job_ends_once;
            webhooks: a_webhook_is_claimed_once_and_settled;
            stored_settings: settings_are_stored_and_removed, characters_have_versions;
            traces: traces_are_read_back, texts_go_with_a_forgotten_person, texts_go_with_deleted_messages, traces_are_bounded;
            tasks: a_turn_saves_and_removes_tasks, a_conflict_leaves_tasks_as_they_were, of_two_answers_one_takes_the_task, a_forgotten_persons_tasks_go,
                next_tasks_are_found_in_order, a_claimed_task_is_finished_once, of_two_claims_one_counts, a_changed_task_is_not_finished_as_it_was;
            small: agents_are_saved_without_secrets, an_agent_is_cleared_and_erased, values_of_several_agents_are_read_at_once, agents_with_retention_are_told, tasks_are_found_in_order_and_deleted, cached_values_expire, a_cached_value_is_swapped_by_one_of_two, relationships_are_unique,
                people_are_linked_and_unlinked, of_two_links_at_once_one_is_made,
                a_link_and_its_end_at_once_leave_one_state, links_are_listed_and_restored;
            embeddings: the_most_similar_come_first, similarity_keeps_to_the_query, an_embedding_goes_with_its_memory, what_has_no_embedding_is_found,
                many_vectors_are_ranked_exactly, odd_text_is_embedded, odd_model_names_are_kept_apart;
            recall: words_are_recalled_in_other_forms, words_and_meaning_are_fused, two_models_answer_together, neighbours_come_along, age_counts_with_a_half_life_only,
                recall_is_filtered, the_order_of_hits_is_that_of_every_limit, scopes_are_kept, another_agents_memories_are_not_recalled, hostile_questions_are_harmless, recall_follows_changes;
            large: words_of_a_large_place_are_found, meanings_of_a_large_place_follow_changes,
                embeddings_that_are_gone_leave_the_search;
        }
    };
    (@each ($make:expr) $($module:ident: $($name:ident),+;)+) => {$(
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let fresh: $crate::store_suite::Fresh = ($make).await.into();
                    $crate::store_suite::$module::$name(fresh.store).await;
                }
            )+
        }
    )+};
}
