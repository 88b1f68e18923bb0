//! Writes the published schemas to `docs/reference/schema`; a test checks the files against the types.

use narrows_record::schemas;
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema");
    fs::create_dir_all(&folder)?;
    for published in schemas::published() {
        fs::write(folder.join(format!("{}.json", published.name)), schemas::text(&published)?)?;
    }
    Ok(())
}
