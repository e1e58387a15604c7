//! Tests of lanes: order, spilling, and lanes that are stuck or panic.

use super::*;
use std::sync::OnceLock;
use tokio::sync::mpsc;

type Echo = (Lanes<u8, u32>, mpsc::UnboundedReceiver<(u8, u32)>, Arc<tokio::sync::Semaphore>);

fn echo(capacity: usize) -> Echo {
    let (tx, rx) = mpsc::unbounded_channel();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let open = Arc::clone(&gate);
    let lanes = Lanes::new(capacity, TaskTracker::new(), move |lane: Lane<u8, u32>| {
        let (tx, gate) = (tx.clone(), Arc::clone(&gate));
        async move {
            let mut from_store = vec![100, 101];
            loop {
                match lane.take() {
                    Taken::Item(item) => {
                        gate.acquire().await.unwrap().forget();
                        tx.send((*lane.key(), item)).unwrap();
                    }
                    Taken::ReadBack => lane.put_back(std::mem::take(&mut from_store), true),
                    Taken::Closed => break,
                }
            }
        }
    });
    (lanes, rx, open)
}

#[tokio::test]
async fn one_lane_keeps_order_and_closes() {
    let (lanes, mut rx, gate) = echo(1000);
    for n in 0..100 {
        assert_eq!(lanes.push(1, n), Pushed::Queued);
    }
    gate.add_permits(100);
    for n in 0..100 {
        assert_eq!(rx.recv().await.unwrap(), (1, n));
    }
    lanes.tasks.close();
    lanes.tasks.wait().await;
    assert!(lanes.is_idle(&1));
    assert_eq!(lanes.active(), 0);
}

#[tokio::test]
async fn a_full_lane_spills_and_reads_back_in_order() {
    let (lanes, mut rx, gate) = echo(2);
    // The first push starts the task; before it is polled all wait in memory.
    assert_eq!(lanes.push(1, 0), Pushed::Queued);
    assert_eq!(lanes.push(1, 1), Pushed::Queued);
    assert_eq!(lanes.push(1, 2), Pushed::Spilled);
    assert_eq!(lanes.push(1, 3), Pushed::Spilled);
    gate.add_permits(4);
    let mut got = Vec::new();
    for _ in 0..4 {
        got.push(rx.recv().await.unwrap().1);
    }
    assert_eq!(got, [0, 1, 100, 101]);
}

#[tokio::test]
async fn what_spills_while_the_store_is_read_is_read_next_time() {
    let reads = Arc::new(Mutex::new(0));
    let (tx, mut rx) = mpsc::unbounded_channel();
    let late = Arc::new(OnceLock::<Arc<Lanes<u8, u32>>>::new());
    let (count, lanes_then) = (Arc::clone(&reads), Arc::clone(&late));
    let lanes = Arc::new(Lanes::new(1, TaskTracker::new(), move |lane: Lane<u8, u32>| {
        let (tx, count, lanes) = (tx.clone(), Arc::clone(&count), Arc::clone(&lanes_then));
        async move {
            loop {
                match lane.take() {
                    Taken::Item(item) => tx.send(item).unwrap(),
                    Taken::ReadBack => {
                        let read = *count.lock();
                        *count.lock() += 1;
                        // Stored after the read, pushed before the read is put back.
                        if read == 0 {
                            assert_eq!(lanes.get().unwrap().push(1, 7), Pushed::Spilled);
                        }
                        lane.put_back(if read == 0 { vec![2] } else { vec![7] }, true);
                    }
                    Taken::Closed => break,
                }
            }
        }
    }));
    assert!(late.set(Arc::clone(&lanes)).is_ok());
    lanes.push(1, 1);
    assert_eq!(lanes.push(1, 2), Pushed::Spilled);
    lanes.tasks.close();
    lanes.tasks.wait().await;
    let mut got = Vec::new();
    while let Ok(item) = rx.try_recv() {
        got.push(item);
    }
    assert_eq!(got, [1, 2, 7]);
}

#[tokio::test]
async fn items_given_back_come_first_and_in_order() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let lanes = Lanes::new(10, TaskTracker::new(), move |lane: Lane<u8, u32>| {
        let tx = tx.clone();
        async move {
            let taken = lane.take_while(2, |_| true);
            assert!(lane.scan(|item| if *item == 3 {
                ControlFlow::Break(true)
            } else {
                ControlFlow::Continue(())
            }));
            lane.put_front(taken);
            while let Taken::Item(item) = lane.take() {
                tx.send(item).unwrap();
            }
        }
    });
    for n in 1..=3 {
        lanes.push(1, n);
    }
    for n in 1..=3 {
        assert_eq!(rx.recv().await, Some(n));
    }
}

#[tokio::test]
async fn a_stuck_lane_does_not_stop_another() {
    let (lanes, mut rx, gate) = echo(10);
    lanes.push(1, 1);
    tokio::task::yield_now().await;
    gate.add_permits(1);
    rx.recv().await.unwrap();
    lanes.push(2, 2);
    gate.add_permits(1);
    assert_eq!(rx.recv().await.unwrap(), (2, 2));
}

#[tokio::test]
async fn a_panicking_task_frees_its_lane() {
    let lanes: Lanes<u8, u8> =
        Lanes::new(10, TaskTracker::new(), |lane: Lane<u8, u8>| async move {
            let Taken::Item(_) = lane.take() else { return };
            panic!("on purpose");
        });
    lanes.push(1, 1);
    lanes.tasks.close();
    lanes.tasks.wait().await;
    assert!(lanes.is_idle(&1));
}
