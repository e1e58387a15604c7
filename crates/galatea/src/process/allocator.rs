//! The memory allocator, mimalloc, for Rust and for SQLite alike, and the return of free memory to
//! the system when the process is idle.
//!
//! It takes the place of C's `malloc` (feature `override`), which Rust's default allocator calls, so
//! that no `#[global_allocator]` is needed.
//!
//! Under a flood of messages it saves a third of the processor time that the allocator of glibc
//! uses there (docs/benchmarks.md). Huge pages are off (`no_thp`): with them an idle process took
//! 24 MiB more.

#[cfg(target_os = "linux")]
pub(crate) use linux::{collect_before_park, give_back_after_bursts};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{collect_before_park, give_back_after_bursts};

#[cfg(target_os = "linux")]
mod linux {
    use nix::time::{ClockId, clock_gettime};
    use std::{
        cell::Cell,
        sync::atomic::{AtomicU64, Ordering},
        time::Duration,
    };

    /// Pause between two checks of the processor time used.
    const LOOK: Duration = Duration::from_secs(10);
    /// The process is idle if it used less processor time than this between two checks: a tenth of
    /// one processor.
    const QUIET: Duration = Duration::from_secs(1);
    /// Processor time since the last return of memory that makes another one worthwhile.
    const WORK: Duration = Duration::from_secs(1);

    /// How often all task threads were asked to return their free memory. Like the allocator, it
    /// belongs to the process.
    static ASKED: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// The value of [`ASKED`] when this thread last returned its free memory.
        static DONE: Cell<u64> = const { Cell::new(0) };
    }

    /// Asks the task threads to return free memory to the system whenever the process is idle after
    /// work. Never ends.
    pub(crate) async fn give_back_after_bursts() {
        let mut ledger = Ledger::default();
        loop {
            tokio::time::sleep(LOOK).await;
            if ledger.is_due(worked()) {
                ASKED.fetch_add(1, Ordering::Relaxed);
                // A thread that sleeps has to wake once.
                for _ in 0..tokio::runtime::Handle::current().metrics().num_workers() {
                    drop(tokio::spawn(tokio::task::yield_now()));
                }
                tracing::debug!("asked the task threads to return free memory to the system");
            }
        }
    }

    /// Called by each task thread before it sleeps. Returns its free memory if that was asked for:
    /// a thread can return no other thread's.
    pub(crate) fn collect_before_park() {
        let asked = ASKED.load(Ordering::Relaxed);
        if DONE.replace(asked) != asked {
            collect();
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

    /// Returns the free memory of the calling thread, and what ended threads left behind.
    fn collect() {
        // SAFETY: mi_collect touches free memory of the calling thread and takes the allocator's own
        // locks for the rest.
        #[allow(unsafe_code, reason = "the crate offers this call only as it is in C")]
        unsafe {
            libmimalloc_sys::mi_collect(true);
        }
    }
}

/// Other systems keep their own allocator.
#[cfg(not(target_os = "linux"))]
mod other {
    /// Does nothing and never ends.
    pub(crate) async fn give_back_after_bursts() {
        std::future::pending().await
    }

    /// Does nothing.
    pub(crate) fn collect_before_park() {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::Ledger;
    use nix::libc;
    use std::{ptr, time::Duration};

    #[test]
    #[allow(unsafe_code, reason = "memory of C, and what the allocator says of an address")]
    fn memory_of_rust_and_of_c_is_the_allocators() {
        let of_rust = Box::new(1);
        // SAFETY: the call looks up whether an address is the allocator's, and reads nothing there.
        let is_ours = |address| unsafe { libmimalloc_sys::mi_is_in_heap_region(address) };
        assert!(is_ours(ptr::from_ref(&*of_rust).cast()), "Rust");
        // SAFETY: what was allocated is freed once.
        unsafe {
            let of_c = libc::malloc(100);
            assert!(is_ours(of_c), "C, such as SQLite");
            libc::free(of_c);
        }
        let of_stack = 1;
        assert!(!is_ours(ptr::from_ref(&of_stack).cast()), "not any address");
    }

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
