package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Look is how text is written for a terminal, a file or a log.
type Look struct {
	// Width is how many columns there are, 100 where it is 0.
	Width int
	// Colour: escape sequences are used. Leave it false where there is no terminal, and where
	// $NO_COLOR is set.
	Colour bool
}

// Limits of what is used of a terminal: below, it wraps; above, lines are hard to read.
const (
	minWidth, normalWidth, maxWidth = 40, 100, 120
	indent                          = 6
)

func (l Look) width() int {
	if l.Width == 0 {
		return normalWidth
	}
	return max(minWidth, min(l.Width, maxWidth))
}

const (
	bold, dim, red, yellow, green, reset = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"
)

func (l Look) paint(colour, text string) string {
	if !l.Colour || text == "" || colour == "" {
		return text
	}
	return colour + text + reset
}

// colourOf is how a severity is shown.
var colourOf = map[rule.Severity]string{rule.Error: red, rule.Warning: yellow, rule.Advice: dim}

// Text writes the findings, grouped by files, and a line that counts them.
func (r *Report) Text(w io.Writer, look Look) error {
	var all strings.Builder
	file := ""
	for _, f := range r.Findings {
		if f.File != file {
			file = f.File
			all.WriteString(look.paint(bold, file) + "\n")
		}
		look.finding(&all, &f)
	}
	all.WriteString(look.summary(r) + "\n")
	_, err := io.WriteString(w, all.String())
	return err
}

func (l Look) finding(out *strings.Builder, f *Finding) {
	fmt.Fprintf(out, "  %s %s %s\n", fill(fmt.Sprintf("%d:%d", f.Line, f.Column), 7),
		l.paint(colourOf[f.Severity], fill(string(f.Severity), 7)), l.paint(bold, f.Rule))
	l.put(out, "", f.Message+". "+f.Reason)
	fix := "fix: "
	if f.Fixable {
		fix = "fix (applied by --fix): "
	}
	l.put(out, green, fix+f.Fix)
	out.WriteString("\n")
}

// put writes a text below a finding, in as many lines as it takes.
func (l Look) put(out *strings.Builder, colour, text string) {
	for _, line := range wrap(text, l.width()-indent) {
		out.WriteString(strings.Repeat(" ", indent) + l.paint(colour, line) + "\n")
	}
}

func (l Look) summary(r *Report) string {
	count := map[rule.Severity]int{}
	for _, f := range r.Findings {
		count[f.Severity]++
	}
	var parts []string
	for _, severity := range rule.Severities {
		if n := count[severity]; n > 0 {
			word := string(severity)
			if n > 1 && severity != rule.Advice {
				word += "s"
			}
			parts = append(parts, l.paint(colourOf[severity], fmt.Sprintf("%d %s", n, word)))
		}
	}
	if len(parts) == 0 {
		parts = []string{l.paint(green, "no findings")}
	}
	text := strings.Join(parts, ", ") + fmt.Sprintf("; %d rules", r.Rules)
	if r.Ignored > 0 {
		text += fmt.Sprintf(", %d ignored by comments", r.Ignored)
	}
	return text
}

// Fixed writes what was fixed.
func Fixed(w io.Writer, fixed []Finding, look Look) error {
	for _, f := range fixed {
		if _, err := fmt.Fprintf(w, "%s %s %s: %s\n", look.paint(green, "fixed"), f.Place, f.Rule, f.Message); err != nil {
			return err
		}
	}
	return nil
}

// List writes what each rule is about.
func List(w io.Writer, look Look) error {
	var all strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&all, "%s %s\n", fill(r.Name, 21), look.paint(colourOf[r.Severity], string(r.Severity)))
		look.put(&all, "", r.About)
	}
	_, err := io.WriteString(w, all.String())
	return err
}

// fill adds spaces up to a width.
func fill(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrap breaks a text into lines at spaces. A word that is longer than a line is broken, too.
func wrap(text string, width int) []string {
	var lines []string
	now := ""
	for _, word := range strings.Fields(text) {
		if now != "" && utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) > width {
			lines, now = append(lines, now), ""
		}
		for utf8.RuneCountInString(word) > width {
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		now = strings.TrimSpace(now + " " + word)
	}
	if now != "" {
		lines = append(lines, now)
	}
	return lines
}
