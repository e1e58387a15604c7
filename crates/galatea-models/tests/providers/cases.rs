//! Test cases for every provider's models without failures, or with passing ones.

use galatea_core::{
    Severity,
    model::{Finish, TextRequest, Usage},
};
use galatea_testkit::models::{Answer, Dialect, Fault, Reply};
use serde_json::Value;

use crate::{
    ask::{ask, clean, request},
    pairs::Pair,
};

impl<D: Dialect> Pair<D> {
    /// Text, tools, usage and finish, for whole and streamed answers, also when split into single
    /// bytes.
    pub(crate) async fn answers(&self) {
        for (stream, tear) in [(false, 0), (true, 0), (true, 1), (true, 7), (false, 3)] {
            self.server.tear(tear);
            let answer =
                Answer {
                    text: "Grüße, 世界 🙂!".into(), usage: (123, 45), ..Answer::default()
                };
            self.server.enqueue(Reply::Answer(answer));
            let (got, pieces) = ask(&self.models.large, &request(stream)).await;
            let got = got.unwrap();
            let [stored, stored_long] = self.server.stored(123);
            assert_eq!(
                (got.text.as_str(), got.finish, got.usage),
                (
                    "Grüße, 世界 🙂!",
                    Finish::Stop,
                    Usage {
                        input: 123,
                        cached: self.server.cached(123),
                        stored,
                        stored_long,
                        output: 45
                    }
                )
            );
            assert_eq!(pieces.concat(), if stream { got.text.as_str() } else { "" });
            assert!(!stream || pieces.len() > 1, "it came in pieces");

            let tools = vec![
                ("SEND_MESSAGE".to_owned(), r#"{"to":"Zoë \"Z\""}"#.to_owned()),
                ("NONE".to_owned(), "{}".to_owned()),
            ];
            self.server.enqueue(Reply::Answer(Answer {
                text: "On it.".into(),
                tools: tools.clone(),
                finish: Finish::Tools,
                ..Answer::default()
            }));
            let got = ask(&self.models.small, &request(stream)).await.0.unwrap();
            let calls: Vec<(String, Value)> = got
                .tool_calls
                .iter()
                .map(|c| (c.name.clone(), serde_json::from_str(&c.arguments).unwrap()))
                .collect();
            assert_eq!(
                calls,
                tools
                    .iter()
                    .map(|(n, a)| (n.clone(), serde_json::from_str(a).unwrap()))
                    .collect::<Vec<(String, Value)>>()
            );
            assert_eq!((got.text.as_str(), got.finish), ("On it.", Finish::Tools));

            self.server.enqueue(Reply::Answer(Answer {
                text: "cut".into(),
                finish: Finish::Length,
                ..Answer::default()
            }));
            assert_eq!(
                ask(&self.models.large, &request(stream)).await.0.unwrap().finish,
                Finish::Length
            );
        }
        self.server.tear(0);
        let plain = TextRequest::prompt(None, "Only this.");
        assert!(!ask(&self.models.large, &plain).await.0.unwrap().text.is_empty());
        self.server.assert_clean();
    }

    /// A passing failure is not visible to the caller.
    pub(crate) async fn recovers(&self) {
        self.server.enqueue(Fault::Overloaded);
        self.server.enqueue(Fault::CutAfter(0));
        self.server.enqueue(Reply::text("at last"));
        assert_eq!(ask(&self.models.large, &request(true)).await.0.unwrap().text, "at last");
        self.server.assert_clean();
    }

    pub(crate) async fn check_works(&self) {
        let findings = self.configured.check().await;
        assert!(findings.iter().all(|f| f.severity <= Severity::Info), "{findings:?}");
        assert!(findings.iter().any(|f| f.id == "GAL-MODEL-OK"));
        self.server.enqueue(Fault::BadKey);
        let findings = self.configured.check().await;
        assert_eq!(
            (findings[0].id.as_str(), findings[0].severity),
            ("GAL-MODEL-401", Severity::Error)
        );
        assert!(!format!("{findings:?}").contains("CANARY"));
        self.server.assert_clean();
    }

    pub(crate) async fn embeds(&self) {
        let model = self.models.embedding.clone().unwrap();
        let texts: Vec<String> =
            (0..150).map(|n| if n == 3 { String::new() } else { format!("text {n}") }).collect();
        let vectors = model.embed(&texts).await.unwrap();
        assert_eq!(vectors.len(), texts.len());
        let one = model.embed(&texts[120..121]).await.unwrap();
        assert_eq!(one[0], vectors[120], "order is kept");
        assert!(model.embed(&[]).await.unwrap().is_empty());
        for fault in [Fault::BadKey, Fault::Empty, Fault::Garbage] {
            self.server.enqueue(fault.clone());
            clean(&self.fresh(&[]).embedding.unwrap().embed(&texts[..2]).await.unwrap_err());
        }
        self.server.assert_clean();
    }

    /// Another embedding model of the same service is asked by its name, at the same address and with
    /// the same key. One that the service does not have is refused.
    pub(crate) async fn siblings(&self) {
        let dimensions =
            [("OPENAI_EMBEDDING_DIMENSIONS", "5"), ("OPENROUTER_EMBEDDING_DIMENSIONS", "5")];
        let model = self.fresh(&dimensions).embedding.unwrap();
        let info = model.info().clone();
        let older = format!("{} embed-before-1", info.provider);
        let sibling = model.sibling(&older).unwrap();
        assert_eq!(sibling.info().full_name(), older);
        let texts = ["where are the teapots?".to_owned()];
        if ["openai", "openrouter"].contains(&&*info.provider) {
            assert_eq!(model.embed(&texts).await.unwrap()[0].len(), 5);
            let body = r#"{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[0.6,0.8]}]}"#;
            self.server.enqueue(Fault::Status { status: 200, retry_after: None, body });
            let narrow = model.embed(&texts).await.unwrap_err();
            assert_eq!(narrow.code(), Some("GAL-MODEL-GARBAGE"));
        }
        let vectors = sibling.embed(&texts).await.unwrap();
        assert_eq!(vectors[0].len(), 8, "with the width that the model has by itself");
        let asked = self.server.last().unwrap();
        let named = format!("{} {}", asked.path, asked.body);
        assert!(named.contains("embed-before-1") && !named.contains(&info.model), "{named}");
        assert!(!named.contains("dimensions"), "{named}");
        self.server.enqueue(Fault::UnknownModel);
        clean(&sibling.embed(&texts).await.unwrap_err());
        for none in [
            info.full_name(),
            "elsewhere embed-before-1".to_owned(),
            info.provider.clone(),
            format!("{} ", info.provider),
            format!("{}x y", info.provider),
        ] {
            assert!(model.sibling(&none).is_none(), "{none:?}");
        }
        self.server.assert_clean();
    }
}
