//! The imports that all formats share.

pub(crate) use crate::builder::{
    Record, SessionBuilder, document_or_lines, name_apart, only, threads_of, with_damage,
};
pub(crate) use crate::format::{Format, FormatId};
pub(crate) use crate::layout::{Block, Blocks, Kind, Layout, by_role};
pub(crate) use crate::peek::{Peek, peek};
pub(crate) use crate::session::{
    Boundary, Cleared, Parsed, Recorded, Records, Shape, Source, Warning,
};
pub(crate) use crate::sign::Member::{self, All, Any, Begins, Has, Is, Lacks, Only, Top};
pub(crate) use crate::sign::Sign;
pub(crate) use crate::write::View;
pub(crate) use crate::{ReadError, Session, WriteError, cluster, folded, jsonl, raw, value};
pub(crate) use foldback_core::log::{
    Answer, EntryKind, Finish, Marker, Media, Message, Origin, Part, PartKind, ResultStatus, Role,
    Service, ToolCall, ToolResult, Usage,
};
pub(crate) use foldback_core::validity::Dialect;
pub(crate) use foldback_core::view::{EditKind, PartEdit, PartPos, ShownMessage};
pub(crate) use foldback_core::{Frame, Limits, SegmentKind};
pub(crate) use foldback_providers::wire::shared::ids::Ids;
pub(crate) use foldback_providers::wire::shared::parts::{
    file, flattened, has_text, mark_synthetic, media, reasoning, reasoning_member, redacted,
    result, signed_member, status, synthetic, text_member, unknown,
};
pub(crate) use foldback_providers::wire::shared::raw::{Change, json_string};
pub(crate) use foldback_providers::wire::shared::usage::{Counts, finish, service};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
pub(crate) use std::sync::Arc;
