//! Tests of the time that object models leave to those behind them.

use super::*;

/// An object model that answers something that does not fit, after some seconds.
struct Slow {
    info: ModelInfo,
    clock: Arc<Jump>,
    seconds: u64,
    told: Mutex<Vec<i64>>,
}

#[async_trait]
impl ObjectModel for Slow {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate_object(&self, request: &TextRequest, _: &Value) -> Result<TextAnswer> {
        self.told.lock().unwrap().push(request.deadline.unwrap().0 / 1000);
        self.clock.sleep(Duration::from_secs(self.seconds)).await;
        Ok(TextAnswer { text: "[]".into(), ..TextAnswer::default() })
    }
}

/// The object, and the deadline and time in seconds at which the text model was asked.
async fn made_within(
    clock: &Arc<Jump>,
    brought: Vec<(i32, PluginModel)>,
    deadline: Option<i64>,
) -> (Value, i64, i64) {
    let text = named("{\"by\": \"text\"}", false);
    let pairs = [("MODEL_TOTAL_TIMEOUT", "100")];
    let dependencies = Dependencies::default();
    let models =
        joined_at(Models::of_text(text.clone()), brought, &pairs, clock.clone(), &dependencies);
    let schema = json!({ "type": "object", "required": ["by"] });
    let deadline = deadline.map(|seconds| Timestamp(seconds * 1000));
    let request = TextRequest { deadline, ..TextRequest::prompt(None, "who?") };
    let made = object::generate(&models, ObjectTier::ObjectSmall, &request, &schema).await;
    let told = text.asked.lock().unwrap()[0].deadline.unwrap().0 / 1000;
    (made.unwrap().value["by"].clone(), told, clock.now().0 / 1000)
}

#[tokio::test]
async fn object_models_that_hang_leave_half_of_the_deadline_each() {
    for (deadline, asked_at) in [(Some(40), 30), (Some(400), 75), (None, 75)] {
        let (first, second) = (named("first", false), named("second", false));
        let brought = [&first, &second].map(|model| {
            model.hangs.store(true, Relaxed);
            (1, object(ObjectTier::ObjectSmall, model))
        });
        let clock = Arc::new(Jump::default());
        let (by, told, at) = made_within(&clock, brought.into(), deadline).await;
        assert_eq!((by, at), (json!("text"), asked_at), "{deadline:?}");
        assert_eq!(told, deadline.unwrap_or(100).min(100), "the text model gets all that is left");
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_are_asked_for_again_within_one_share() {
    let clock = Arc::new(Jump::default());
    let slow = Arc::new(Slow {
        info: named("slow", false).info.clone(),
        clock: clock.clone(),
        seconds: 15,
        told: Mutex::default(),
    });
    let brought = vec![(1, PluginModel::Object(ObjectTier::ObjectSmall, slow.clone() as _))];
    let (by, told, _) = made_within(&clock, brought, Some(40)).await;
    assert_eq!((by, told), (json!("text"), 40));
    let told = slow.told.lock().unwrap().clone();
    assert!(!told.is_empty() && told.iter().all(|deadline| *deadline == 20), "{told:?}");
}
