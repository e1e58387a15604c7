//! Pages about models.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-MODEL-OK",
        "The model is there",
        "Key, address and model name were accepted.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-MODEL-OFFLINE",
        "The offline script answers",
        "No model is configured. The script answers by pattern matching; it is not AI, and says so.",
        "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or another key, or OLLAMA_API_ENDPOINT for a model on this machine. `galatea init` does it step by step.",
    ),
    Explanation::new(
        "GAL-MODEL-NONE",
        "No model is set, and people write on a platform",
        "The offline script stays away from public platforms. Messages there are stored and get no answer.",
        "`galatea init` connects a model step by step; or set OPENAI_API_KEY, ANTHROPIC_API_KEY or another key, or OLLAMA_API_ENDPOINT for a model of your own. OFFLINE_RESPONDER_PUBLIC=true lets the script speak there.",
    ),
    Explanation::new(
        "GAL-MODEL-EMBEDDING",
        "Memory search uses keywords",
        "No embedding model is set, so memories are found by their words and facts are shown by their age, not by their meaning.",
        "Nothing has to be done. To search by meaning, set OPENAI_EMBEDDING_MODEL or OLLAMA_EMBEDDING_MODEL.",
    ),
    Explanation::new(
        "GAL-MODEL-401",
        "The provider rejected the key",
        "The key is mistyped, revoked, or belongs to another provider or server.",
        "Make a new key on the provider's page and set it. The line `where` shows which variable it came from.",
    ),
    Explanation::new(
        "GAL-MODEL-403",
        "The key may not do this",
        "The account or project has no access to this model or from this country.",
        "Allow it on the provider's page, or choose another model.",
    ),
    Explanation::new(
        "GAL-MODEL-404",
        "The provider does not have this model",
        "The name is mistyped or retired, or with Ollama the model is not pulled. A name from the settings is never replaced.",
        "Take one of the names in the fix line, or unset the variable: a model is chosen from the provider's list then. With Ollama: `ollama pull NAME`.",
    ),
    Explanation::new(
        "GAL-MODEL-SERVED",
        "Another model answers than was asked",
        "The provider has retired the model and serves its name by a newer one, at the price of that.",
        "Set the variable to the name of a model of today, or unset it: a model is chosen from the provider's list then.",
    ),
    Explanation::new(
        "GAL-MODEL-ENDS",
        "The model has an announced end",
        "The provider has announced the day on which it switches the model off.",
        "Set the variable to a newer model, or unset it: a model is chosen from the provider's list then, and chosen again when it is gone.",
    ),
    Explanation::new(
        "GAL-MODEL-DROPPED",
        "A parameter is left out",
        "The model refuses it: reasoning models take no temperature and its like, and not every effort.",
        "Remove the setting, or take a model that takes it; the table of models says which (docs/reference/models.md).",
    ),
    Explanation::new(
        "GAL-MODEL-DATA",
        "What is known of models is old",
        "Windows, prices and parameters are kept in a table that is part of the program, and it is more than 180 days old.",
        "Update Galatea. Names still come from the provider's own list; prices and parameters of newer models may be wrong.",
    ),
    Explanation::new(
        "GAL-MODEL-400",
        "The provider found the request invalid",
        "A parameter does not fit this model, such as one that the table of models does not know of yet.",
        "Remove the sampling variables (TEXT_LARGE_…, DEFAULT_…) that the message names.",
    ),
    Explanation::new(
        "GAL-MODEL-409",
        "The provider is in a state that conflicts with the request",
        "The service is changing the model or the account just now.",
        "It is tried again by itself. If it stays, look at the provider's status page.",
    ),
    Explanation::new(
        "GAL-MODEL-413",
        "The conversation is longer than the model can read",
        "Character, memories and messages together exceed the model's context.",
        "Lower CONVERSATION_LENGTH, shorten the character, or take a model with a larger context.",
    ),
    Explanation::new(
        "GAL-MODEL-429",
        "The provider asked to slow down",
        "Too many requests or tokens in a minute.",
        "It is tried again by itself, after the time the provider names. If it happens often, ask the provider for higher limits.",
    ),
    Explanation::new(
        "GAL-MODEL-QUOTA",
        "The money for this provider is used up",
        "The account has no credit left, or its monthly limit is reached.",
        "Add credit or raise the limit on the provider's page.",
    ),
    Explanation::new(
        "GAL-MODEL-5XX",
        "The provider has a fault or is overloaded",
        "Its servers answered with an error of their own.",
        "It is tried again by itself. Look at the provider's status page if it lasts.",
    ),
    Explanation::new(
        "GAL-MODEL-CONNECT",
        "The model's server cannot be reached",
        "The address is wrong, nothing listens there, or a network, proxy or certificate is in the way.",
        "Check the address; for Ollama, start it with `ollama serve`.",
    ),
    Explanation::new(
        "GAL-MODEL-CUT",
        "The answer broke off",
        "The connection to the model ended in the middle of an answer.",
        "It is tried again by itself. If it happens often, look at proxies and their time limits.",
    ),
    Explanation::new(
        "GAL-MODEL-TIMEOUT",
        "The model did not answer in time",
        "It is still being loaded, too large for this machine, or overloaded.",
        "Wait and try again, take a smaller model, or raise MODEL_FIRST_TOKEN_TIMEOUT and MODEL_TOTAL_TIMEOUT.",
    ),
    Explanation::new(
        "GAL-MODEL-PAUSED",
        "The model keeps failing and is left alone for a while",
        "Its calls failed five times in a row, or half of them within 30 s. It is asked again after 5 s, later after up to a minute.",
        "It is tried again by itself; the line `cause` has the last failure. A further key (OPENAI_API_KEY_2) or another provider stands in meanwhile.",
    ),
    Explanation::new(
        "GAL-MODEL-EMPTY",
        "The model answered nothing",
        "Some models do this when the answer may have only few tokens, or when a filter took it away.",
        "Raise TEXT_LARGE_MAX_TOKENS, or take another model.",
    ),
    Explanation::new(
        "GAL-MODEL-GARBAGE",
        "The answer is not what this kind of server sends",
        "The address belongs to something else: a web page, a login portal, another API. A web page is not asked for a second time.",
        "Check the base address; for OpenAI-compatible servers it usually ends in /v1.",
    ),
    Explanation::new(
        "GAL-MODEL-URL",
        "The model's address cannot be used",
        "It is not an http or https address.",
        "Write it in full, such as http://127.0.0.1:11434/api.",
    ),
    Explanation::new(
        "GAL-MODEL-TOOLS",
        "The model cannot call tools",
        "The provider or its server says that this model takes no tools. It is asked again at once with the actions in the text, and so for an hour; then it is offered tools again.",
        "Set MODEL_TOOLS=false to save the attempt, take a model with tools, or start the server with them (vLLM: --enable-auto-tool-choice; llama.cpp: --jinja).",
    ),
    Explanation::new(
        "GAL-MODEL-CONFIG",
        "The chosen provider is not configured",
        "GALATEA_MODEL_PROVIDER names a provider whose key or address is not set.",
        "Set what the fix line names, or remove GALATEA_MODEL_PROVIDER.",
    ),
    Explanation::new(
        "GAL-MODEL-UNUSABLE",
        "The model gave no usable answer",
        "It was asked several times and never kept to the form that was asked for. Small models do this.",
        "Take a larger model, or one with tools.",
    ),
    Explanation::new(
        "GAL-OFFLINE-SCRIPT",
        "The script of the offline responder is faulty",
        "OFFLINE_SCRIPT names a file that cannot be read, or whose rules break their form.",
        "Correct the rule named, or remove OFFLINE_SCRIPT to use the built-in script.",
    ),
];
