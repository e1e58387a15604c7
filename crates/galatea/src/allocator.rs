//! Allocator: the C library's, told to keep what it has while there is work, and to give back what
//! is free once it is quiet.
//!
//! As it comes it returns the top of its heap after every larger free and asks for it again at
//! once, and it makes eight arenas for each processor, each of which keeps what a burst left in it.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use gnu::{give_back_after_bursts, settle};
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) use other::{give_back_after_bursts, settle};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use nix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// Between two looks at how much there was to do.
    const LOOK: Duration = Duration::from_secs(10);
    /// Less than this between two looks is quiet: a tenth of one processor.
    const QUIET: Duration = Duration::from_secs(1);
    /// So much work leaves something to give back.
    const WORK: Duration = Duration::from_secs(1);

    /// Free memory at the top of the heap that is kept while there is work, and blocks up to which
    /// memory comes from the heap. As it comes these are 128 KiB (mallopt(3)); measured, a flood
    /// takes a quarter less processor time with these.
    const KEPT: libc::c_int = 128 << 20;
    const FROM_HEAP: libc::c_int = 32 << 20;
    /// The heap grows by at least so much.
    const STEP: libc::c_int = 1 << 20;

    /// Two arenas for each processor, and the sizes above. To be called before any other thread is
    /// started.
    ///
    /// With one for each, our threads and those of SQLite waited for each other's: a flood took a
    /// fifth more processor time. Those above two took no more memory and saved no more time.
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

    /// Gives free memory back when it is quiet after work; for ever.
    pub(crate) async fn give_back_after_bursts() {
        let mut ledger = Ledger::default();
        loop {
            tokio::time::sleep(LOOK).await;
            // It goes through the whole heap: some milliseconds.
            if ledger.is_due(worked()) && tokio::task::spawn_blocking(give_back).await.is_err() {
                return;
            }
        }
    }

    /// What was done up to the last look, and when memory was given back.
    #[derive(Debug, Default)]
    pub(super) struct Ledger {
        looked: Duration,
        given_back: Duration,
    }

    impl Ledger {
        /// Whether to give back now; `worked` is the processor time of the whole process so far.
        pub(super) fn is_due(&mut self, worked: Duration) -> bool {
            let lately = worked.saturating_sub(std::mem::replace(&mut self.looked, worked));
            let due = lately < QUIET && worked.saturating_sub(self.given_back) >= WORK;
            if due {
                self.given_back = worked;
            }
            due
        }
    }

    /// A clock that can't be read gives nothing back.
    fn worked() -> Duration {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
    }

    fn give_back() {
        // SAFETY: malloc_trim(3) takes the allocator's own locks and touches free memory only.
        #[allow(unsafe_code, reason = "no crate offers this call")]
        let given = unsafe { libc::malloc_trim(0) };
        tracing::debug!(given = given == 1, "free memory was given back to the machine");
    }
}

/// Other C libraries have neither these settings nor this habit.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod other {
    /// Nothing to tell it.
    pub(crate) fn settle() {}

    /// Nothing to do, for ever.
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
