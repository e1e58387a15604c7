//! Ids of the requests for original posts.

use galatea_core::RemoteId;

/// Prefix of the ids of requests; ids of posts are numbers.
pub(crate) const REQUEST: &str = "post-";

/// True if this message id belongs to a request of the schedule.
pub(crate) fn is_request(id: &RemoteId) -> bool {
    id.as_str().starts_with(REQUEST)
}
