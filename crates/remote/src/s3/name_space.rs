//! The name space of an answer: servers give the elements of S3 several, or none, and all mean the same.

/// What the library that parses answers takes.
const USUAL: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// An answer of which `root` is the outermost element, with the name space that is taken; one with another root stays as it is.
pub(super) fn in_usual_name_space(answer: &str, root: &str) -> String {
    let start = format!("<{root}");
    let found = answer.split_once(&start).and_then(|(before, rest)| {
        let (tag, after) = rest.split_once('>')?;
        let is_whole_name = tag.is_empty() || tag.starts_with(['/', ' ', '\t', '\r', '\n']);
        is_whole_name.then_some((before, tag.ends_with('/'), after))
    });
    let Some((before, is_empty, after)) = found else { return answer.to_owned() };
    format!("{before}{start} xmlns=\"{USUAL}\"{}>{after}", if is_empty { "/" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_name_space_an_answer_has_it_is_taken() {
        let expected = format!("<?xml version=\"1.0\"?><List xmlns=\"{USUAL}\"><Key>x</Key></List>");
        for attributes in ["", " xmlns=\"http://doc.s3.amazonaws.com/2006-03-01/\"", " a=\"1\"\n xmlns='x'"] {
            let answer = format!("<?xml version=\"1.0\"?><List{attributes}><Key>x</Key></List>");
            assert_eq!(in_usual_name_space(&answer, "List"), expected, "{attributes}");
        }
        assert_eq!(in_usual_name_space("<List/>", "List"), format!("<List xmlns=\"{USUAL}\"/>"));
        for other in ["<Lists></Lists>", "<Error>", "<List", ""] {
            assert_eq!(in_usual_name_space(other, "List"), other);
        }
    }
}
