//! What `show` prints: the settings, in the original's lines.

use super::settings::{Location, PostmarkSettings};

/// The settings of a session whose commands are given in the folder `here`.
pub(super) fn show(settings: &PostmarkSettings, here: &str) -> String {
    let PostmarkSettings { number, transactions, seed, .. } = settings;
    let mut lines = vec![
        "Current configuration is:".to_owned(),
        format!("The base number of files is {number}"),
        format!("Transactions: {transactions}"),
        sizes(settings),
        locations(&settings.locations, here),
    ];
    lines.extend(subdirectories(settings.subdirectories));
    lines.push(format!(
        "Block sizes are: read={}, write={}",
        amount(settings.read_bytes),
        amount(settings.write_bytes)
    ));
    let (read, create) = (bias(settings.bias_read), bias(settings.bias_create));
    lines.push(format!("Biases are: read/append={read}, create/delete={create}"));
    let buffered = if settings.is_buffered { "Using" } else { "Not using" };
    lines.push(format!("{buffered} Unix buffered file I/O"));
    lines.push(format!("Random number generator seed is {seed}"));
    lines.push(format!("Report format is {}.", settings.report.name()));
    lines.join("\n") + "\n"
}

fn sizes(settings: &PostmarkSettings) -> String {
    let PostmarkSettings { size_low: low, size_high: high, .. } = settings;
    if low == high {
        return format!("Files are {} in size", amount(*low));
    }
    format!("Files range between {} and {} in size", amount(*low), amount(*high))
}

fn locations(locations: &[Location], here: &str) -> String {
    let each = |location: &Location| format!("\n\t{} (weight={})", location.path, location.weight);
    match locations {
        [] => format!("Working directory: {here}"),
        [one] => format!("Working directory: {}", each(one)),
        all => format!("Working directories: {}", all.iter().map(each).collect::<String>()),
    }
}

fn subdirectories(count: u64) -> Option<String> {
    let noun = if count == 1 { "subdirectory" } else { "subdirectories" };
    (count > 0).then(|| format!("{count} {noun} will be used"))
}

fn bias(bias: Option<u8>) -> String {
    bias.map_or_else(|| "-1".to_owned(), |bias| bias.to_string())
}

/// A size: bytes below 1024, else kilobytes or megabytes of 1024 with two digits.
fn amount(bytes: u64) -> String {
    let whole = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.2} kilobytes", whole / 1024.0),
        _ => format!("{:.2} megabytes", whole / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::ReportForm;
    use super::*;

    /// What the original prints, read off it.
    const ORIGINAL: &str = "\
Current configuration is:
The base number of files is 500
Transactions: 500
Files range between 500 bytes and 9.77 kilobytes in size
Working directory: /tmp
Block sizes are: read=512 bytes, write=512 bytes
Biases are: read/append=5, create/delete=5
Using Unix buffered file I/O
Random number generator seed is 42
Report format is verbose.
";
    const ORIGINAL_CHANGED: &str = "\
Current configuration is:
The base number of files is 1234567
Transactions: 500
Files are 5 bytes in size
Working directories: 
\ta (weight=1)
\tb (weight=2)
1 subdirectory will be used
Block sizes are: read=4.00 kilobytes, write=1.00 megabytes
Biases are: read/append=10, create/delete=-1
Not using Unix buffered file I/O
Random number generator seed is 7
Report format is terse.
";

    #[test]
    fn the_defaults_are_shown_as_by_the_original() {
        assert_eq!(show(&PostmarkSettings::default(), "/tmp"), ORIGINAL);
    }

    #[test]
    fn changed_settings_are_shown_as_by_the_original() {
        let location = |path: &str, weight| Location { path: path.to_owned(), weight };
        let settings = PostmarkSettings {
            size_low: 5,
            size_high: 5,
            number: 1_234_567,
            seed: 7,
            locations: vec![location("a", 1), location("b", 2)],
            subdirectories: 1,
            read_bytes: 4096,
            write_bytes: 1 << 20,
            is_buffered: false,
            bias_read: Some(10),
            bias_create: None,
            report: ReportForm::Terse,
            ..PostmarkSettings::default()
        };
        assert_eq!(show(&settings, "/tmp"), ORIGINAL_CHANGED);
        let one = PostmarkSettings {
            locations: vec![location("/x", 3)],
            subdirectories: 5,
            ..PostmarkSettings::default()
        };
        let text = show(&one, "/tmp");
        assert!(
            text.contains("Working directory: \n\t/x (weight=3)\n5 subdirectories will be used\n"),
            "{text}"
        );
    }
}
