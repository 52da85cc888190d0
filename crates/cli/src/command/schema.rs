//! `foldback schema`

use crate::args::{Described, Schema};
use crate::error::Error;
use crate::output;
use foldback_report::schema;

pub(crate) fn run(args: &Schema) -> Result<(), Error> {
    output::print(&match args.of {
        Described::Comparison => schema::comparison()?,
        Described::Row => schema::row()?,
    })
}
