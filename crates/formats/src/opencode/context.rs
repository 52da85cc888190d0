//! What a new message of an export takes over from those before it: ids that sort after theirs, agent,
//! model, paths, time.

use super::FORMAT;
use crate::prelude::*;

/// What a new message takes over from those before it.
pub(super) struct Context {
    pub(super) session: String,
    pub(super) agent: String,
    pub(super) provider: String,
    pub(super) model: String,
    /// `{cwd, root}` of the assistant messages.
    pub(super) path: Value,
    /// Id of the last message that has the recorder's own, and the time of the message before.
    before: String,
    pub(super) time: i64,
    /// Id of the last user message.
    pub(super) user: String,
    /// How many ids were derived from `before`.
    derived: usize,
    /// Ids of canonical messages with the ids that they were written with.
    written: HashMap<String, String>,
    /// Ids that the export has.
    recorded: HashSet<String>,
}

impl Context {
    /// The context before the first message of a session.
    pub(super) fn new(session: &Session) -> Self {
        let mut context = Self {
            session: prefixed("ses_", &session.id),
            agent: "build".to_owned(),
            provider: "unknown".to_owned(),
            model: session.model.clone().unwrap_or_else(|| "unknown".to_owned()),
            path: json!({"cwd": "/", "root": "/"}),
            before: "msg_0".to_owned(),
            time: 0,
            user: "msg_0".to_owned(),
            derived: 0,
            written: HashMap::new(),
            recorded: HashSet::new(),
        };
        if session.format == FORMAT.id {
            context.session.clone_from(&session.id);
            let mut record_ids: HashMap<u32, &str> = HashMap::new();
            for message in &session.messages {
                // What was split off a stored message is known to OpenCode by that message's id.
                let id = message.record.map_or(message.id.as_str(), |record| {
                    *record_ids.entry(record).or_insert(&message.id)
                });
                context.written.insert(message.id.clone(), id.to_owned());
                context.recorded.insert(id.to_owned());
            }
        }
        context
    }

    /// Takes over agent, model and place from the records up to `after`.
    pub(super) fn follow(&mut self, session: &Session, after: Option<u32>) {
        let infos = (0..=after.unwrap_or(0))
            .rev()
            .filter_map(|record| raw::parse(session.source.record(record)?).ok())
            .filter_map(|mut message| message.get_mut("info").map(Value::take));
        let (mut user, mut assistant) = (false, false);
        for (distance, info) in infos.enumerate() {
            if distance == 0 && after.is_some() {
                self.after(value::text(&info, "id").unwrap_or("msg_0"));
                self.time = value::millis(&info, "/time/created").unwrap_or(self.time);
            }
            match value::text(&info, "role") {
                Some("user") if !user => {
                    user = true;
                    self.user = value::string(&info, "id").unwrap_or_default();
                    let model = info.get("model").unwrap_or(&Value::Null);
                    set(&mut self.agent, value::text(&info, "agent"));
                    set(&mut self.provider, value::text(model, "providerID"));
                    set(&mut self.model, value::text(model, "modelID"));
                }
                Some("assistant") if !assistant => {
                    assistant = true;
                    if let Some(path) = info.get("path") {
                        self.path = path.clone();
                    }
                }
                _ => {}
            }
            if user && assistant {
                break;
            }
        }
    }

    /// Takes a message that the recorder named as the one before.
    fn after(&mut self, id: &str) {
        if self.before != id {
            self.before = id.to_owned();
            self.derived = 0;
        }
    }

    /// An id that OpenCode, which orders messages by id, sorts after the message before.
    pub(super) fn id(&mut self, message: &Message) -> String {
        let id = if message.id.starts_with("msg_") && !self.written.contains_key(&message.id) {
            self.after(&message.id);
            message.id.clone()
        } else {
            self.derived += 1;
            let mut base = self.before.clone();
            loop {
                let id = format!("{base}_{:06}", self.derived);
                if !self.recorded.contains(&id) {
                    break id;
                }
                // It was derived before this export was written, and comes later: in front of it.
                base.push_str("_000000");
            }
        };
        self.written.insert(message.id.clone(), id.clone());
        id
    }

    /// The id that a canonical message has in the export.
    pub(super) fn written<'a>(&'a self, id: &'a str) -> &'a str {
        self.written.get(id).map_or(id, String::as_str)
    }

    /// Id of the message that this one answers: its recorded parent, else the last user message.
    pub(super) fn parent(&self, message: &Message) -> String {
        match &message.parent {
            Some(parent) => self.written(parent).to_owned(),
            None => self.user.clone(),
        }
    }
}

fn set(field: &mut String, found: Option<&str>) {
    if let Some(found) = found {
        found.clone_into(field);
    }
}

fn prefixed(prefix: &str, id: &str) -> String {
    if id.starts_with(prefix) { id.to_owned() } else { format!("{prefix}{id}") }
}
