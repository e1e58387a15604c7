//! Rate limits: windows of 15 minutes per route and account (X API, "Rate limits"), reported in
//! three headers.

use std::collections::HashMap;

const WINDOW: i64 = 15 * 60;

/// State of a route's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) limit: u32,
    pub(super) remaining: u32,
    /// End of the window, in Unix seconds.
    pub(super) reset: i64,
}

#[derive(Debug, Default)]
pub(super) struct Limits {
    windows: HashMap<&'static str, Window>,
}

#[derive(Debug)]
struct Window {
    used: u32,
    reset: i64,
    /// True if all calls are refused until the reset.
    shut: bool,
}

/// Calls in 15 minutes per account (X API, "Rate limits", 2026-08).
fn limit(route: &str) -> u32 {
    match route {
        "GET /2/users/:id/mentions" => 300,
        "GET /2/users/me" => 75,
        "POST /2/tweets" => 100,
        "DELETE /2/tweets/:id"
        | "POST /2/users/:id/likes"
        | "DELETE /2/users/:id/likes/:tweet_id" => 50,
        _ => 900,
    }
}

impl Limits {
    /// Counts a call; `Err` when the window is used up.
    pub(super) fn count(&mut self, route: &'static str, now: i64) -> Result<Standing, Standing> {
        let window = self.window(route, now);
        let over = window.shut || window.used >= limit(route);
        if !over {
            window.used += 1;
        }
        let standing = standing(route, window);
        if over { Err(standing) } else { Ok(standing) }
    }

    /// Refuses all calls of a route for this many seconds.
    pub(super) fn shut(&mut self, route: &'static str, now: i64, seconds: u64) -> Standing {
        let window = self.window(route, now);
        window.shut = true;
        window.reset = now + i64::try_from(seconds).unwrap_or(WINDOW);
        standing(route, window)
    }

    /// Leaves this many calls in the window.
    pub(super) fn leave(&mut self, route: &'static str, now: i64, left: u32) {
        self.window(route, now).used = limit(route).saturating_sub(left);
    }

    fn window(&mut self, route: &'static str, now: i64) -> &mut Window {
        let window = self.windows.entry(route).or_insert(Window {
            used: 0,
            reset: now + WINDOW,
            shut: false,
        });
        if window.reset <= now {
            *window = Window { used: 0, reset: now + WINDOW, shut: false };
        }
        window
    }
}

fn standing(route: &str, window: &Window) -> Standing {
    let limit = limit(route);
    Standing {
        limit,
        remaining: if window.shut { 0 } else { limit - window.used.min(limit) },
        reset: window.reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_run_out_and_begin_anew() {
        let mut limits = Limits::default();
        let route = "GET /2/users/me";
        for left in (0..75).rev() {
            assert_eq!(limits.count(route, 100).unwrap().remaining, left);
        }
        assert_eq!(limits.count(route, 200).unwrap_err().reset, 100 + WINDOW);
        assert_eq!(limits.count(route, 100 + WINDOW).unwrap().remaining, 74);
        limits.shut(route, 2000, 30);
        assert!(limits.count(route, 2029).is_err() && limits.count(route, 2030).is_ok());
    }
}
