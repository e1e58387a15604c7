//! What opens, closes and latches a breaker, and that it cannot be stuck.

use super::*;

const LIMITS: BreakerLimits =
    BreakerLimits { slow: Duration::from_secs(10), probe: Duration::from_secs(30) };
const NO_JITTER: f64 = 0.5;

fn breaker() -> Breaker {
    Breaker::new(LIMITS, Timestamp(0))
}

fn failed() -> Call {
    Call::Failed { cause: "down".into() }
}

fn good() -> Call {
    Call::Done(Duration::ZERO)
}

fn call(breaker: &mut Breaker, call: Call, at: i64) -> bool {
    match breaker.admit(Timestamp(at), NO_JITTER) {
        Admission::Go(pass) => {
            breaker.settle(pass, call, Timestamp(at), NO_JITTER);
            true
        }
        Admission::Wait(_) | Admission::Never => false,
    }
}

fn opened() -> Breaker {
    let mut breaker = breaker();
    for n in 0..5 {
        assert!(call(&mut breaker, failed(), n));
    }
    breaker
}

#[test]
fn five_failures_open_it_and_probes_close_it() {
    let mut breaker = opened();
    assert!(!call(&mut breaker, good(), 10), "open");
    assert_eq!(breaker.admit(Timestamp(1_004), NO_JITTER), Admission::Wait(Duration::from_secs(4)));
    let state = breaker.state("x");
    assert_eq!(
        (state.phase, state.since, state.cause.as_deref(), state.until),
        (Phase::Open, Timestamp(4), Some("down"), Some(Timestamp(5_004)))
    );
    for n in 0..3 {
        assert!(call(&mut breaker, good(), 6_000 + n));
    }
    assert_eq!(
        breaker.state("x"),
        BreakerState {
            name: "x".into(),
            phase: Phase::Closed,
            since: Timestamp(6_002),
            cause: None,
            until: None
        }
    );
}

#[test]
fn a_failed_probe_doubles_the_pause_up_to_a_minute() {
    let mut breaker = opened();
    let (mut now, mut pauses) = (6_000, Vec::new());
    for _ in 0..6 {
        assert!(call(&mut breaker, failed(), now));
        let Admission::Wait(pause) = breaker.admit(Timestamp(now), NO_JITTER) else {
            panic!("it must be open")
        };
        pauses.push(pause.as_secs());
        now += i64::try_from(pause.as_millis()).unwrap();
    }
    assert_eq!(pauses, [10, 20, 40, 60, 60, 60]);
}

#[test]
fn pauses_vary_by_a_fifth() {
    for (chance, millis) in [(0.0, 4_000), (1.0, 6_000)] {
        let mut breaker = breaker();
        for _ in 0..5 {
            let Admission::Go(pass) = breaker.admit(Timestamp(0), chance) else { panic!("closed") };
            breaker.settle(pass, failed(), Timestamp(0), chance);
        }
        assert_eq!(
            breaker.admit(Timestamp(0), chance),
            Admission::Wait(Duration::from_millis(millis))
        );
    }
}

#[test]
fn only_three_probes_at_a_time_and_what_is_cancelled_gives_its_place_back() {
    let mut breaker = opened();
    let mut probes = Vec::new();
    for _ in 0..3 {
        let Admission::Go(pass) = breaker.admit(Timestamp(6_000), NO_JITTER) else {
            panic!("a probe")
        };
        probes.push(pass);
    }
    assert_eq!(breaker.admit(Timestamp(6_000), NO_JITTER), Admission::Wait(Duration::from_secs(1)));
    breaker.release(probes[0]);
    assert!(matches!(breaker.admit(Timestamp(6_000), NO_JITTER), Admission::Go(_)));
}

#[test]
fn a_probe_that_never_comes_back_reopens_it() {
    let mut breaker = opened();
    let Admission::Go(lost) = breaker.admit(Timestamp(6_000), NO_JITTER) else { panic!("a probe") };
    assert!(call(&mut breaker, good(), 6_001));
    assert!(matches!(breaker.admit(Timestamp(36_000), NO_JITTER), Admission::Wait(_)));
    assert_eq!(
        (breaker.phase(), breaker.state("").cause.as_deref()),
        (Phase::Open, Some("a probe did not come back"))
    );
    // Late, it counts for nothing.
    for _ in 0..3 {
        breaker.settle(lost, good(), Timestamp(50_000), NO_JITTER);
    }
    assert_eq!(breaker.phase(), Phase::Open);
}

#[test]
fn floods_and_refused_messages_never_open_it() {
    let mut breaker = breaker();
    for n in 0..100 {
        assert!(call(&mut breaker, Call::Refused, n));
    }
    // They do not thin out the failures of a window either.
    for n in 0..4 {
        assert!(call(&mut breaker, failed(), 100 + n));
        assert!(call(&mut breaker, good(), 100 + n));
    }
    assert!(call(&mut breaker, good(), 110) && call(&mut breaker, failed(), 111));
    assert_eq!(breaker.phase(), Phase::Open, "5 of 10 failed, whatever else was refused");
}

#[test]
fn four_fifths_slow_calls_open_it() {
    let mut breaker = breaker();
    for n in 0..9 {
        assert!(call(&mut breaker, Call::Done(Duration::from_secs(if n < 2 { 1 } else { 10 })), n));
    }
    assert!(call(&mut breaker, Call::Done(Duration::from_secs(10)), 9));
    assert_eq!(breaker.phase(), Phase::Open);
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let mut breaker = breaker();
    for n in 0..8 {
        call(&mut breaker, if n % 2 == 0 { failed() } else { good() }, n);
    }
    for n in 0..2 {
        call(&mut breaker, failed(), 40_000 + n);
    }
    assert_eq!(breaker.phase(), Phase::Closed);
}

#[test]
fn what_people_repair_is_looked_at_after_growing_pauses_until_it_works() {
    let mut breaker = breaker();
    let mut asked = Vec::new();
    for second in 0..=1_000 {
        if call(&mut breaker, Call::Barred { cause: "401".into() }, second * 1_000) {
            asked.push(second);
        }
    }
    assert_eq!(asked, [0, 5, 15, 35, 75, 155, 315, 615, 915]);
    for n in 0..3 {
        assert!(call(&mut breaker, good(), 1_300_000 + n));
    }
    assert_eq!((breaker.phase(), breaker.state("").cause), (Phase::Closed, None));
    call(&mut breaker, Call::Barred { cause: "401".into() }, 1_400_000);
    assert_eq!(
        breaker.state("").until,
        Some(Timestamp(1_405_000)),
        "starts again once it has worked"
    );
}

#[test]
fn refused_credentials_latch_it_and_money_until_it_may_be_back() {
    let mut breaker = breaker();
    call(&mut breaker, Call::Locked { cause: "401".into(), again: None }, 0);
    assert_eq!(breaker.admit(Timestamp(i64::MAX), NO_JITTER), Admission::Never);
    let mut breaker = opened();
    let Admission::Go(pass) = breaker.admit(Timestamp(6_000), NO_JITTER) else { panic!("a probe") };
    breaker.settle(
        pass,
        Call::Locked { cause: "402".into(), again: Some(Timestamp(100_000)) },
        Timestamp(6_001),
        NO_JITTER,
    );
    assert_eq!(
        (breaker.phase(), breaker.state("").until),
        (Phase::Latched, Some(Timestamp(100_000)))
    );
    assert!(!call(&mut breaker, good(), 99_999));
    for n in 0..3 {
        assert!(call(&mut breaker, good(), 100_000 + n));
    }
    assert_eq!(breaker.phase(), Phase::Closed);
}
