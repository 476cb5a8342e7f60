"""All laws of methods at once, for a method that is found only while a test runs."""

from __future__ import annotations

from monitoring_lib.methods import Method
from tests.laws import test_method_decoders as decoders
from tests.laws import test_method_laws as laws


def apply_laws(kind: type[Method]) -> None:
    laws.test_every_question_found_has_a_maker_of_scenarios()
    laws.test_scenarios_hold_what_the_laws_are_about(kind)
    laws.test_an_answer_is_partial_only_where_something_is_missing(kind)
    laws.test_nodes_leave_the_letters_that_they_are_handed_as_they_are(kind)
    laws.test_a_letter_changed_after_it_was_sent_changes_nothing(kind)
    laws.test_letters_of_a_method_can_be_told_apart(kind)
    laws.test_bytes_and_entries_of_the_ledger_are_those_of_the_letters(kind)
    laws.test_states_stay_readable_as_rows(kind)
    for seed in laws.SEEDS:
        laws.test_every_deterministic_promise_is_kept_at_every_epoch(kind, seed)
        laws.test_estimates_lie_inside_their_bounds_and_states_are_sound(kind, seed)
        laws.test_a_run_restored_from_rows_and_messages_goes_on_as_if_nothing_happened(kind, seed)
        laws.test_an_epoch_in_which_nothing_changed_leaves_no_rows_and_no_messages(kind, seed)
        laws.test_inner_nodes_work_from_messages_alone(kind, seed)
        laws.test_the_order_of_rosters_and_mappings_does_not_matter(kind, seed)
        laws.test_missing_sites_never_speak_and_are_sent_nothing_that_asks_for_an_answer(kind, seed)


def feed_junk(kind: type[Method]) -> None:
    """The laws of decoders."""
    checks = [check for name, check in vars(decoders).items() if name.startswith("test_")]
    assert len(checks) >= 4
    for check in checks:
        check(kind)
