//! How many requests are worked on at once. Waits are parked: they cost memory, not work, and have a bound of
//! their own, so that they never keep short calls out.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::Refusal;

/// The two bounds.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    in_flight: Arc<Semaphore>,
    parked: Arc<Semaphore>,
}

impl Admission {
    pub(super) fn new(in_flight: usize, parked: usize) -> Self {
        // Semaphores count to usize::MAX >> 3; a larger setting means the same.
        let bound = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            in_flight: bound(in_flight),
            parked: bound(parked),
        }
    }

    /// A place for a request that will be worked on.
    pub(super) fn enter(&self) -> Result<Slot, Refusal> {
        self.slot(&self.in_flight)
    }

    /// A place for a stream that only listens.
    pub(super) fn listen(&self) -> Result<Slot, Refusal> {
        self.slot(&self.parked)
    }

    fn slot(&self, bound: &Arc<Semaphore>) -> Result<Slot, Refusal> {
        let permit = Arc::clone(bound)
            .try_acquire_owned()
            .map_err(|_| Refusal::Busy)?;
        Ok(Slot {
            held: Arc::new(Mutex::new(permit)),
            parked: Arc::clone(&self.parked),
        })
    }
}

/// A request's place. Free again when its handler and its reply are both done with it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    held: Arc<Mutex<OwnedSemaphorePermit>>,
    parked: Arc<Semaphore>,
}

/// Too many waits are parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParkingFull;

impl Slot {
    /// Moves the request from those worked on to those that wait.
    pub(crate) fn park(&self) -> Result<(), ParkingFull> {
        let permit = Arc::clone(&self.parked)
            .try_acquire_owned()
            .map_err(|_| ParkingFull)?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_last_holder_is_gone() {
        let admission = Admission::new(2, 2);
        let first = admission.enter().expect("free");
        let copy = first.clone();
        let _second = admission.enter().expect("free");
        assert_eq!(admission.enter().err(), Some(Refusal::Busy));
        drop(first);
        assert_eq!(
            admission.enter().err(),
            Some(Refusal::Busy),
            "a copy still holds it"
        );
        drop(copy);
        assert!(admission.enter().is_ok());
    }

    #[test]
    fn parked_waits_leave_room_for_work_up_to_their_own_bound() {
        let admission = Admission::new(1, 2);
        let waits: Vec<_> = (0..2)
            .map(|_| {
                let slot = admission.enter().expect("the one before is parked");
                slot.park().expect("room to park");
                slot
            })
            .collect();
        let third = admission.enter().expect("work goes on");
        assert_eq!(third.park(), Err(ParkingFull));
        assert_eq!(admission.listen().err(), Some(Refusal::Busy));
        assert_eq!(
            admission.enter().err(),
            Some(Refusal::Busy),
            "a refused wait keeps its place"
        );
        drop(waits);
        assert_eq!(third.park(), Ok(()));
        assert!(admission.listen().is_ok());
    }
}
