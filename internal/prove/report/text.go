package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// File is a file that was written for the reader.
type File struct {
	// What is the kind of file: "page", "JUnit".
	What string
	Path string
}

// Text writes the verdict for people: each finding in a few lines, then a summary that ends with
// the list of written files.
func Text(w io.Writer, r Report, look Look, files ...File) error {
	r = Redact(r)
	p := &page{Look: look, trusts: len(r.Operator.Command) > 0}
	p.headline(&r)
	p.overview(&r)
	for i := range r.Findings {
		p.finding(i+1, &r.Findings[i])
	}
	p.summary(&r, files)
	_, err := io.WriteString(w, p.text.String())
	return err
}

// page collects lines.
type page struct {
	Look
	// trusts means that the reader has just run the operator's command, and may trust plan files that name it.
	trusts bool

	text strings.Builder
}

func (p *page) put(lines ...string) {
	for _, line := range lines {
		p.text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// labels is the width of the column of labels.
const labels = 9

// labelled writes a label and a text. The text is wrapped beside the label.
func (p *page) labelled(label string, c string, text string) {
	const indent = 3
	for i, part := range terminal.Wrap(text, p.Columns()-indent-labels) {
		if i > 0 {
			label = ""
		}
		p.put(strings.Repeat(" ", indent) + p.Paint(dim, terminal.Pad(label, labels)) + p.Paint(c, part))
	}
}

func (p *page) headline(r *Report) {
	verdict, c := Headline(*r), red
	switch {
	case r.Failures() == 0 && (r.Interrupted || r.Plans.Run == 0):
		c = yellow
	case r.Failures() == 0:
		c = green
	}
	for _, part := range terminal.Wrap(terminal.Line(r.Operator.Name)+": "+verdict, p.Columns()) {
		p.put(p.Paint(bold, p.Paint(c, part)))
	}
}

// Headline returns a report in one line: "2 findings, 1 of them flaky, in 118 plans".
func Headline(r Report) string {
	text := "no failures"
	if len(r.Findings) == 0 {
		text = "no findings"
	}
	if n := r.Failures(); n > 0 {
		text = plural.Count(n, "failure")
		switch flaky := r.flaky(); {
		case flaky == n:
			text += ", flaky,"
		case flaky > 0:
			text += fmt.Sprintf(", %d of them flaky,", flaky)
		}
	}
	text += " in " + plural.Count(r.Plans.Run, "test case")
	if r.Interrupted {
		text += fmt.Sprintf(" of %d, then interrupted", r.Plans.Planned)
	}
	if n := r.notes(); n > 0 {
		text += "; " + plural.Count(n, "note")
	}
	if n := r.accepted(); n > 0 {
		text += "; " + plural.Count(n, "accepted finding")
	}
	return text
}

func (p *page) finding(number int, f *finding.Finding) {
	about := about(f.Property)
	title := titleOf(f)
	p.put("")
	label := terminal.Pad(fmt.Sprint(number), 3)
	for _, part := range terminal.Wrap(title, p.Columns()-len(label)) {
		p.put(p.Paint(bold, p.Paint(toneOfFinding(f), label+part)))
		label = strings.Repeat(" ", len(label))
	}
	p.labelled("found", plain, short(f.Text(), shown))
	if f.Level == finding.Note {
		p.labelled("level", yellow, "note: no failure, but worth a look")
	}
	if f.Accepted != "" {
		p.labelled("accepted", plain, f.Accepted)
		return
	}
	p.labelled("means", plain, about.means)
	p.faults(f)
	p.labelled("class", plain, string(f.Class)+" (a guess)")
	if f.Step != "" {
		p.labelled("step", plain, f.Step)
	}
	if f.Also > 0 {
		p.labelled("also", plain, "in "+plural.Count(f.Also, "other test case"))
	}
	if f.Flaky {
		p.labelled("flaky", yellow, flakiness(f))
	}
	p.requests(f)
	p.differences(f)
	p.log(f)
	if f.File != "" {
		p.put("", "   "+p.Paint(bold, p.replay(f.File)))
	}
}

// flakiness describes how often a flaky finding occurred.
func flakiness(f *finding.Finding) string {
	switch f.Runs {
	case 0:
		return "not every run of the test case showed it"
	case 1:
		return "seen once: the test case was not repeated"
	}
	return fmt.Sprintf("seen in %d of %d runs of the same test case", f.Seen, f.Runs)
}

// toneOfFinding returns the color of a finding's title.
func toneOfFinding(f *finding.Finding) string {
	if f.Fails() {
		return red
	}
	return yellow
}

// replay returns the command that repeats the run of a plan file, for the user who wrote the file.
func (p *page) replay(file string) string {
	command := ReplayCommand(file)
	if p.trusts {
		command = strings.Replace(command, "--replay", "--trust-file --replay", 1)
	}
	return command
}

// ReplayCommand returns the command that repeats the run of a plan file. It asks for consent if the file names a command: the reader may have
// received the file from somebody else.
func ReplayCommand(file string) string {
	if strings.Trim(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=@:+,") != "" {
		file = "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return "operon prove --replay " + terminal.Clean(file)
}

func (p *page) faults(f *finding.Finding) {
	if f.Plan == nil {
		return
	}
	if len(f.Plan.Faults) == 0 {
		p.labelled("fault", plain, "none: it also happens without faults")
		return
	}
	for i, one := range f.Plan.Faults {
		label := ""
		if i == 0 {
			label = "fault"
		}
		p.labelled(label, plain, Words(one))
	}
}

// requests writes a table of the last requests of a finding.
func (p *page) requests(f *finding.Finding) {
	rows := requestRows(f.Last)
	if len(rows) == 0 {
		return
	}
	var width [5]int
	for _, row := range rows {
		for i, cell := range row.cells() {
			width[i] = max(width[i], min(terminal.Width(cell), widest[i]))
		}
	}
	room := p.Columns() - 3 - 2*(len(width)-1)
	for i, n := range width {
		if i != objects {
			room -= n
		}
	}
	width[objects] = min(width[objects], max(room, 12))
	p.put("")
	for _, row := range rows {
		p.request(row, width)
	}
}

// The columns of the table of requests: the maximum widths, and the column that is made narrower if there is not enough room.
var widest = [5]int{9, 16, terminal.MaxWidth, 12, 10}

const objects = 2

func (r requestRow) cells() [5]string {
	return [5]string{r.Offset, r.Verb, r.Object, r.Status, r.Effect}
}

// request writes a row. The faults that were injected into the request follow in the same line, or in the next line if
// there is not enough room.
func (p *page) request(row requestRow, width [5]int) {
	cells := row.cells()
	for i := range cells {
		cells[i] = terminal.Pad(terminal.CutMiddle(cells[i], width[i]), width[i])
	}
	cells[0] = terminal.Pad("", width[0]-terminal.Width(row.Offset)) + terminal.CutMiddle(row.Offset, width[0])
	text := terminal.Cut("   "+strings.TrimRight(strings.Join(cells[:], "  "), " "), p.Columns())
	if row.Mark == "" {
		p.put(text)
		return
	}
	mark := "  ◀ " + row.Mark
	if terminal.Width(text+mark) <= p.Columns() {
		p.put(p.Paint(red, text+mark))
		return
	}
	p.put(p.Paint(red, text))
	p.put(p.Paint(red, terminal.Cut(terminal.Pad("", 3+width[0])+mark, p.Columns())))
}

func (p *page) differences(f *finding.Finding) {
	all, more := differences(f)
	if len(all) > 0 {
		p.put("", "   "+p.Paint(dim, "- expected  + found"))
	}
	for _, d := range all {
		p.put("   " + p.Paint(bold, terminal.CutMiddle(d.Of, p.Columns()-3)))
		for _, l := range d.Lines {
			p.diffLine(l)
		}
	}
	if more > 0 {
		p.put("   " + p.Paint(dim, "… "+plural.Count(more, "more difference")))
	}
}

// rowsOfLine is the maximum number of terminal rows for one line of a difference.
const rowsOfLine = 6

func (p *page) diffLine(l diffLine) {
	c := map[string]string{"-": red, "+": green, " ": dim}[l.Sign]
	room := p.Columns() - 5
	text := short(strings.ReplaceAll(l.Text, "\t", "  "), rowsOfLine*room)
	for {
		head := text
		if terminal.Width(head) > room {
			head = string([]rune(text)[:room])
		}
		p.put("   " + p.Paint(c, l.Sign+" "+head))
		if text = text[len(head):]; text == "" {
			return
		}
	}
}

// log writes the last lines of the operator's log.
func (p *page) log(f *finding.Finding) {
	if len(f.Log) == 0 {
		return
	}
	p.put("", "   "+p.Paint(dim, "the last lines of the operator's log"))
	for _, one := range f.Log[max(0, len(f.Log)-shownLog):] {
		p.put("   " + terminal.CutMiddle(terminal.Line(short(one, shown)), p.Columns()-3))
	}
}

// shownLog is the number of lines of the operator's log that are shown.
const shownLog = 8
