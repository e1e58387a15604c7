//! Tunes the C library's allocator: free memory is kept while there is work, and returned to the
//! system when the process is idle.
//!
//! By default, glibc returns the top of its heap after every larger free and requests it again at
//! once. It also creates eight arenas per processor, each of which keeps the memory of a burst.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use gnu::{give_back_after_bursts, settle};
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) use other::{give_back_after_bursts, settle};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use nix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// Pause between two checks of the processor time used.
    const LOOK: Duration = Duration::from_secs(10);
    /// The process is idle if it used less processor time than this between two checks: a tenth of
    /// one processor.
    const QUIET: Duration = Duration::from_secs(1);
    /// Processor time since the last return of memory that makes another one worthwhile.
    const WORK: Duration = Duration::from_secs(1);

    /// Bytes of free memory kept at the top of the heap while there is work, and the size up to
    /// which blocks come from the heap. The default of both is 128 KiB (mallopt(3)). Measured under
    /// a flood of messages, these values use a quarter less processor time.
    const KEPT: libc::c_int = 128 << 20;
    const FROM_HEAP: libc::c_int = 32 << 20;
    /// The heap grows by at least this many bytes.
    const STEP: libc::c_int = 1 << 20;

    /// Sets two arenas per processor and the sizes above. Must be called before any other thread is
    /// started.
    ///
    /// With one arena per processor, our threads and those of SQLite waited for each other, and a
    /// flood used a fifth more processor time. More than two used no more memory and saved no more
    /// time.
    pub(crate) fn settle() {
        let arenas = std::thread::available_parallelism()
            .map_or(2, |n| libc::c_int::try_from(2 * n.get()).unwrap_or(libc::c_int::MAX));
        let settings = [
            (libc::M_ARENA_MAX, arenas),
            (libc::M_TRIM_THRESHOLD, KEPT),
            (libc::M_MMAP_THRESHOLD, FROM_HEAP),
            (libc::M_TOP_PAD, STEP),
        ];
        for (setting, value) in settings {
            // SAFETY: mallopt(3) changes a number of the allocator; no other thread runs yet.
            #[allow(unsafe_code, reason = "no crate offers this call")]
            let _ = unsafe { libc::mallopt(setting, value) };
        }
    }

    /// Returns free memory to the system whenever the process is idle after work. Never ends.
    pub(crate) async fn give_back_after_bursts() {
        let mut ledger = Ledger::default();
        loop {
            tokio::time::sleep(LOOK).await;
            // malloc_trim(3) walks the whole heap, which takes some milliseconds.
            if ledger.is_due(worked()) && tokio::task::spawn_blocking(give_back).await.is_err() {
                return;
            }
        }
    }

    /// Processor time at the last check, and at the last return of memory.
    #[derive(Debug, Default)]
    pub(super) struct Ledger {
        looked: Duration,
        given_back: Duration,
    }

    impl Ledger {
        /// Whether to return memory now. `worked` is the processor time of the process so far.
        pub(super) fn is_due(&mut self, worked: Duration) -> bool {
            let lately = worked.saturating_sub(std::mem::replace(&mut self.looked, worked));
            let due = lately < QUIET && worked.saturating_sub(self.given_back) >= WORK;
            if due {
                self.given_back = worked;
            }
            due
        }
    }

    /// If the clock cannot be read, no memory is returned.
    fn worked() -> Duration {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
    }

    fn give_back() {
        // SAFETY: malloc_trim(3) takes the allocator's own locks and touches free memory only.
        #[allow(unsafe_code, reason = "no crate offers this call")]
        let given = unsafe { libc::malloc_trim(0) };
        tracing::debug!(given = given == 1, "returned free memory to the system");
    }
}

/// Other C libraries have neither these settings nor this behaviour.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod other {
    /// Does nothing.
    pub(crate) fn settle() {}

    /// Does nothing and never ends.
    pub(crate) async fn give_back_after_bursts() {
        std::future::pending().await
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::gnu::Ledger;
    use std::time::Duration;

    #[test]
    fn memory_is_given_back_once_it_is_quiet_after_work() {
        let mut ledger = Ledger::default();
        let mut look = |ms| ledger.is_due(Duration::from_millis(ms));
        assert!(!look(400), "too little was done");
        assert!(!look(8_000), "busy");
        assert!(!look(15_000), "still busy");
        assert!(look(15_200), "quiet");
        assert!(!look(15_300), "given back already");
        assert!(!look(16_000), "too little since");
        assert!(look(16_400), "little by little it is enough");
    }
}
