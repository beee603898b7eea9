package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Look describes how text is written for a terminal, a file or a log.
type Look = terminal.Look

const indent = 6

const bold, dim, red, yellow, green = terminal.Bold, terminal.Dim, terminal.Red, terminal.Yellow, terminal.Green

// colourOf is the color of each severity.
var colourOf = map[rule.Severity]string{rule.Error: red, rule.Warning: yellow, rule.Advice: dim}

// Text writes the findings, grouped by file, and a line with their counts.
func (r *Report) Text(w io.Writer, look Look) error {
	var all strings.Builder
	file := ""
	for _, f := range r.Findings {
		if f.File != file {
			file = f.File
			all.WriteString(look.Paint(bold, file) + "\n")
		}
		printFinding(look, &all, &f)
	}
	all.WriteString(summary(look, r) + "\n")
	_, err := io.WriteString(w, all.String())
	return err
}

func printFinding(l Look, out *strings.Builder, f *Finding) {
	fmt.Fprintf(out, "  %s %s %s\n", terminal.Pad(fmt.Sprintf("%d:%d", f.Line, f.Column), 7),
		l.Paint(colourOf[f.Severity], terminal.Pad(string(f.Severity), 7)), l.Paint(bold, f.Rule))
	put(l, out, "", f.Message+". "+f.Reason)
	fix := "fix: "
	if f.Fixable {
		fix = "fix (applied by --fix): "
	}
	put(l, out, green, fix+f.Fix)
	out.WriteString("\n")
}

// put writes a text below a finding, wrapped to as many lines as needed.
func put(l Look, out *strings.Builder, colour, text string) {
	for _, line := range terminal.Wrap(text, l.Columns()-indent) {
		out.WriteString(strings.Repeat(" ", indent) + l.Paint(colour, line) + "\n")
	}
}

func summary(l Look, r *Report) string {
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
			parts = append(parts, l.Paint(colourOf[severity], fmt.Sprintf("%d %s", n, word)))
		}
	}
	if len(parts) == 0 {
		parts = []string{l.Paint(green, "no findings")}
	}
	text := strings.Join(parts, ", ") + fmt.Sprintf("; %d rules", r.Rules)
	if r.Ignored > 0 {
		text += fmt.Sprintf(", %d ignored by comments", r.Ignored)
	}
	return text
}

// Fixed writes the findings that were fixed.
func Fixed(w io.Writer, fixed []Finding, look Look) error {
	for _, f := range fixed {
		if _, err := fmt.Fprintf(w, "%s %s %s: %s\n", look.Paint(green, "fixed"), f.Place, f.Rule, f.Message); err != nil {
			return err
		}
	}
	return nil
}

// List writes the description of each rule.
func List(w io.Writer, rules []*rule.Rule, look Look) error {
	var all strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&all, "%s %s\n", terminal.Pad(r.Name, 21), look.Paint(colourOf[r.Severity], string(r.Severity)))
		put(look, &all, "", r.About)
	}
	_, err := io.WriteString(w, all.String())
	return err
}
