//! The cases of the suite, one file per part of the connector contract.

pub mod cursor;
pub mod faults;
pub mod lifecycle;
pub mod receive;
pub mod send;

/// Starts a scene and takes a spot in it. The case is not applicable where the platform has no such
/// spot.
macro_rules! scene_with_spot {
    ($harness:ty, $kind:ident) => {{
        let scene = $crate::connector_suite::Scene::<$harness>::start().await;
        let Some(spot) = scene.platform.spot($crate::connector_suite::SpotKind::$kind).await else {
            return $crate::connector_suite::Outcome::NotApplicable(concat!(
                "the platform has no such place: ",
                stringify!($kind)
            ));
        };
        (scene, spot)
    }};
}

/// Ends the case as not applicable unless the condition is true.
macro_rules! applies_if {
    ($condition:expr, $why:literal) => {
        if !$condition {
            return $crate::connector_suite::Outcome::NotApplicable($why);
        }
    };
}

pub(crate) use {applies_if, scene_with_spot};
