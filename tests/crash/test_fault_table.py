"""Every row of the fault table names a test."""

import re

import pytest

from tests.conftest import REPOSITORY

CRASH, CONCURRENCY, STORAGE = "tests/crash/test_", "tests/concurrency/test_", "tests/unit/test_storage_"
ENGINE, SURFACES = "tests/unit/test_engine.py::", "tests/surfaces/test_"
KILLS = f"{CRASH}kill_at_failpoints.py::"
MODEL = f"{CRASH}model.py::"
MATRIX = f"{CRASH}strace_matrix.py::test_failed_system_call_leaves_a_consistent_commit_and_a_correct_report"
SIGNALS = f"{CRASH}signals.py::test_commit_ended_by_a_signal_is_all_old_or_all_new"
REAL = f"{CRASH}real_file_systems.py::"
FAULTS = f"{STORAGE}faults.py::"
ONE_FAILURE = f"{FAULTS}test_one_failure_leaves_all_old_or_all_new"
LASTING_FAILURE = f"{FAULTS}test_lasting_failure_is_repaired_by_the_next_start"
CLEANING_FAILURE = f"{FAULTS}test_failed_cleanup_is_a_warning_on_success"
IN_DOUBT = f"{FAULTS}test_commit_whose_last_sync_fails_is_in_doubt"
MODEL_FAULT = f"{MODEL}test_failed_commit_is_all_old_or_all_new_and_reports_which"
LATE = f"{STORAGE}late_writes.py::"
COMMIT = f"{STORAGE}commit.py::"
RECOVERY = f"{STORAGE}recovery.py::"
NESTED = f"{STORAGE}nested.py::"
LOCK = f"{STORAGE}lock.py::"

# What goes wrong, and what has to come of it; with the tests of it.
FAULT_TABLE: dict[str, tuple[str, ...]] = {
    "the process is killed at any step: old or new after recovery, new from the commit point on": (
        f"{KILLS}test_killed_commit_is_all_old_or_all_new_after_recovery",
        f"{KILLS}test_commit_killed_before_any_operation_is_all_old_or_all_new",
        f"{MODEL}test_nested_crashes_end_all_old_or_all_new",
        MATRIX,
    ),
    "recovery is killed at any step: it is done again": (
        f"{KILLS}test_killed_recovery_runs_again",
        f"{KILLS}test_recovery_killed_before_any_change_runs_again",
        f"{RECOVERY}test_killed_recovery_runs_again",
    ),
    "the power fails, and what was not synced is lost: old or new, new once success was reported": (
        f"{MODEL}test_nested_crashes_end_all_old_or_all_new",
        f"{MODEL}test_receipts_stay_valid_after_nested_crashes",
        f"{CRASH}power_cuts.py::test_commit_is_all_old_or_all_new_after_a_power_cut",
        f"{CRASH}protocol_mutations.py::test_removing_any_sync_of_a_commit_can_lose_data",
    ),
    "the user stops it, or a signal does: undone at once, or by recovery; new from the commit point on": (
        SIGNALS,
        f"{FAULTS}test_interrupt_before_the_commit_point_is_rolled_back",
        f"{CRASH}server_ends.py::test_commit_of_a_stopped_server_is_all_old_or_all_new",
    ),
    "disk, quota or names are used up: NO_SPACE and old; a warning once it is committed": (
        f"{REAL}test_full_disk_fails_the_whole_commit",
        f"{REAL}test_file_size_limit_fails_the_whole_commit",
        f"{REAL}test_batch_over_two_file_systems_is_one_transaction",
        ONE_FAILURE,
        CLEANING_FAILURE,
        MATRIX,
    ),
    "the disk fails to read or write: IO_ERROR and old; a warning once it is committed": (
        ONE_FAILURE,
        CLEANING_FAILURE,
        MODEL_FAULT,
        MATRIX,
    ),
    "a sync fails: never tried again, old; COMMIT_IN_DOUBT when it is the last": (
        f"{FAULTS}test_failed_file_sync_is_not_retried",
        IN_DOUBT,
        MODEL_FAULT,
        f"{MODEL}test_rollback_after_a_fault_may_be_interrupted",
        MATRIX,
    ),
    "the k-th file cannot be replaced: the ones before it are put back, and it is named": (
        f"{REAL}test_immutable_file_or_folder_fails_the_batch",
        f"{REAL}test_mount_point_as_target_fails_the_batch",
        f"{REAL}test_folder_of_another_user_fails_the_batch",
        f"{REAL}test_read_only_disk_fails_the_batch",
        f"{COMMIT}test_file_that_cannot_be_replaced_is_refused",
        ONE_FAILURE,
    ),
    "putting back fails as well: RECOVERY_REQUIRED, and the next start tries again": (
        LASTING_FAILURE,
        f"{MODEL}test_commit_on_a_dying_disk_is_all_old_or_all_new_and_reports_which",
        MATRIX,
    ),
    "no more files can be opened: old, or RECOVERY_REQUIRED and old later": (
        f"{REAL}test_open_file_limit_fails_the_whole_commit",
        ONE_FAILURE,
        MATRIX,
    ),
    "folders cannot be synced: the commit works, and says that it is not durable": (
        f"{COMMIT}test_file_system_without_folder_sync_is_reported",
    ),
    "another program puts a new file in place, without the lock: its file stays, and all is old": (
        f"{COMMIT}test_write_after_staging_is_stale",
        f"{LATE}test_foreign_writer_before_an_exchange_wins",
        f"{LATE}test_foreign_writer_before_a_renaming_wins",
        f"{LATE}test_foreign_writer_before_a_deletion_wins",
        f"{LATE}test_newest_version_of_a_repeated_writer_wins",
        f"{LATE}test_endless_writer_leaves_the_transaction_pending",
        f"{CRASH}foreign_program.py::test_file_of_another_program_is_never_replaced",
        f"{CONCURRENCY}foreign_writer.py::test_newest_foreign_version_is_in_place_after_every_commit",
    ),
    "another program writes into a file that it has open: its bytes are kept, and told": (
        f"{LATE}test_foreign_writer_before_an_exchange_wins",
        f"{LATE}test_write_through_an_open_descriptor_is_kept_and_reported",
        f"{RECOVERY}test_recovery_reports_a_late_write_into_a_displaced_file",
    ),
    "a target is deleted, or becomes a link or a folder: refused or undone, and never followed": (
        f"{COMMIT}test_link_instead_of_a_staged_file_is_refused",
        f"{LATE}test_target_replaced_by_another_kind_is_restored",
        f"{LATE}test_target_deleted_during_the_commit_stays_deleted",
        f"{STORAGE}restore.py::test_folder_instead_of_the_target_is_a_conflict",
    ),
    "a folder on the way becomes a link: nothing is written through it": (
        f"{COMMIT}test_folder_replaced_by_a_link_after_staging_is_not_followed",
        f"{RECOVERY}test_linked_folder_is_not_entered",
    ),
    "who holds the lock is killed: it is free at once": (
        f"{CONCURRENCY}lock.py::test_lock_of_a_killed_process_is_free_at_once",
        f"{CONCURRENCY}killed_workers.py::test_workers_that_are_killed_at_failpoints_lose_nothing",
        f"{CONCURRENCY}killed_workers.py::test_workers_that_are_killed_from_outside_lose_nothing",
    ),
    "the file of a lock is old: it holds nobody": (
        f"{CONCURRENCY}lock.py::test_lock_of_a_killed_process_is_free_at_once",
    ),
    "two processes have roots that lie in each other: one waits for the other": (
        f"{NESTED}test_commit_in_the_inner_root_waits_for_the_outer_one",
        f"{NESTED}test_commit_in_the_outer_root_waits_for_the_inner_one",
        f"{NESTED}test_interrupted_commit_in_the_other_root_is_reported",
    ),
    "the clock jumps, stands still, or two times are equal: hashes decide": (
        f"{CRASH}clocks.py::test_clock_jumps_do_not_change_the_outcome",
        f"{CRASH}clocks.py::test_write_with_unchanged_mtime_is_detected_when_displaced",
        f"{COMMIT}test_changed_mtime_alone_is_not_stale",
    ),
}

# Test cases by the numbers that names and docstrings of tests call them by.
CASES: dict[str, tuple[str, ...]] = {
    "41: the third of five targets is immutable": (f"{REAL}test_immutable_file_or_folder_fails_the_batch",),
    "42: a target is a mount point": (f"{REAL}test_mount_point_as_target_fails_the_batch",),
    "43: no space left at every call": (f"{REAL}test_full_disk_fails_the_whole_commit", MATRIX, ONE_FAILURE),
    "44: every sync fails": (f"{FAULTS}test_failed_file_sync_is_not_retried", IN_DOUBT, MATRIX),
    "45: cleaning up fails": (CLEANING_FAILURE,),
    "46: killed at every call, then applied again": (
        f"{KILLS}test_killed_commit_is_all_old_or_all_new_after_recovery",
        MATRIX,
    ),
    "47: killed, then a file is changed, then recovered": (
        f"{STORAGE}restore.py::test_conflict_is_resolved_for_the_current_content",
        f"{STORAGE}restore.py::test_conflict_is_resolved_for_the_old_content",
        f"{SURFACES}cli_history.py::test_conflict_is_resolved_by_option",
    ),
    "48: the record is damaged": (
        f"{RECOVERY}test_damaged_record_blocks_commits_and_changes_nothing",
        f"{RECOVERY}test_damaged_record_can_be_ignored",
    ),
    "49: the journal is a stranger's": (
        f"{RECOVERY}test_hostile_path_is_refused",
        f"{RECOVERY}test_hostile_folder_is_refused",
        f"{RECOVERY}test_file_with_other_content_is_never_changed",
        f"{RECOVERY}test_link_instead_of_a_temporary_file_is_not_followed",
    ),
    "50: the state folder is a trap": (
        f"{LOCK}test_link_is_refused_and_its_target_unchanged",
        f"{LOCK}test_state_folder_that_others_can_write_is_refused",
        f"{LOCK}test_state_folder_of_another_user_is_refused",
        f"{RECOVERY}test_unsafe_folder_in_the_state_folder_is_refused",
    ),
    "51: a stored plan is changed": (f"{ENGINE}test_stored_plan_that_was_changed_on_disk_is_refused",),
    "52: a plan is not known": (f"{ENGINE}test_unknown_plan_is_not_found",),
    "53: a base is changed, or only its time": (
        f"{COMMIT}test_changed_base_is_stale",
        f"{COMMIT}test_changed_mtime_alone_is_not_stale",
    ),
    "54: a base is changed, and changed back": (
        f"{ENGINE}test_plan_with_restored_base_is_committed_as_a_new_transaction",
    ),
    "55: a file to be created is there": (
        f"{COMMIT}test_creation_over_something_is_refused",
        f"{COMMIT}test_file_that_appears_after_staging_is_kept",
        f"{LATE}test_file_that_appears_at_its_creation_wins",
    ),
    "56: another program writes in a loop": (
        f"{CONCURRENCY}foreign_writer.py::test_newest_foreign_version_is_in_place_after_every_commit",
    ),
    "70: a request is cancelled during its commit": (
        f"{CRASH}server_ends.py::test_commit_of_a_stopped_server_is_all_old_or_all_new",
    ),
    "71: the client goes during a commit": (
        f"{CRASH}server_ends.py::test_commit_of_a_stopped_server_is_all_old_or_all_new",
    ),
    "72: servers and command lines on one root": (
        f"{CONCURRENCY}mixed_load.py::test_servers_and_command_lines_form_one_chain",
        f"{LOCK}test_lock_timeout_names_the_holder",
    ),
}


def problem_of_test(name: str) -> str | None:
    """Why there is no test of this node ID; None where there is one."""
    path, _, function = name.partition("::")
    file = REPOSITORY / path
    if not file.exists():
        return f"there is no file {path}"
    is_there = re.search(rf"^(?:async )?def {function}\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    return None if is_there else f"{path} has no {function}"


@pytest.mark.parametrize("row", FAULT_TABLE | CASES)
def test_row_of_the_fault_table_has_tests(row: str) -> None:
    tests = (FAULT_TABLE | CASES)[row]

    assert tests
    assert [problem for test in tests if (problem := problem_of_test(test))] == []


def test_fault_table_covers_every_case() -> None:
    assert [int(row.partition(":")[0]) for row in CASES] == [*range(41, 57), 70, 71, 72]
