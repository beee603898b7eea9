package house

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// word is wording that readers who do not know this project find hard to understand, and the replacement.
type word struct {
	pattern *regexp.Regexp
	better  string
}

// words are the patterns of unidiomatic English in earlier texts of this project, and terms that differ from the usual ones.
var words = []word{
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) told\b`), "reported, printed, logged"},
	{regexp.MustCompile(`(^|[.:;,] |- )[Ww]ho (?:[a-z]+s|may|can|has|is|wants)\b`), "clients that, users who, anyone who"},
	{regexp.MustCompile(`(?i)(^|\. |, and |; )what [a-z]+ (?:[a-z]+ ){0,4}(?:is|are) (?:not )?[a-z]+ed\b`), "the fields that …, everything that …"},
	{regexp.MustCompile(`(?i)\b(?:it|that|which|this|[%a-z]+s) (?:is|was) no (?:[a-km-z]|l[a-np-z])[a-z]*(?:[,.;:]| that| of| and)`), "is not a …"},
	{regexp.MustCompile(`(?i)\b(that|as it|what|which|if it|while it) (is|are) (?:not )?there\b`), "exists, existing"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) there (?:already|before)\b`), "already exists, existed before"},
	{regexp.MustCompile(`(?i)\bis none of an?\b`), "is not a …"},
	{regexp.MustCompile(`(?i)\bwhat (?:was|is) (?:made|removed|declared|deployed)\b`), "the objects that …"},
	{regexp.MustCompile(`(?i)\b(goes|went|go|going) on\b`), "continues"},
	{regexp.MustCompile(`(?i)\b(takes?|took|taken) up\b`), "picks up, handles"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\b(comes|came) to (?:an end|the same|nothing|rest)\b`), "ends in, stops, equals"},
	{regexp.MustCompile(`(?i)\blets (?:the|an?|it|you|others|API|users|one|objects)\b`), "allows, makes, causes"},
	{regexp.MustCompile(`(?i)\bsomebody\b`), "another client, a user, someone"},
	{regexp.MustCompile(`(?i)\bput back\b`), "reverted"},
	{regexp.MustCompile(`(?i)\b(colour|licence|behaviour|authoris|organis|recognis|initialis|time-out)\w*`), "American English"},
	{regexp.MustCompile(`(?i)\bfolders?\b`), "directory"},
	{regexp.MustCompile(`(?i)\bof (?:git|kubebuilder|Operon|Go|Kubernetes)'s\b`), "a git …, a kubebuilder …"},
	{regexp.MustCompile(`(?i)\b(worked out|kept elsewhere|made again|of one's own)\b`), "derived, stored elsewhere, recreated, of your own"},
}

// stumbles returns the matches of words in a text, with their replacements.
func stumbles(text string) []string {
	var found []string
	for _, w := range words {
		for _, hit := range w.pattern.FindAllString(text, -1) {
			found = append(found, strconv.Quote(strings.TrimSpace(hit))+": write "+w.better)
		}
	}
	return found
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// TestDocumentationReadsWell rejects the words above in texts for users.
func TestDocumentationReadsWell(t *testing.T) {
	t.Parallel()
	for _, p := range paragraphs(t) {
		for _, hit := range stumbles(inlineCode.ReplaceAllString(p.text, "`…`")) {
			t.Errorf("%s:%d: %s", p.page, p.line, hit)
		}
	}
}

var textInSVG = regexp.MustCompile(`>([^<>]+)<`)

// TestPicturesReadWell rejects the words above in pictures, most of which show the output of commands.
func TestPicturesReadWell(t *testing.T) {
	t.Parallel()
	pictures, err := filepath.Glob(root + "/docs/images/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("found %d pictures: %v", len(pictures), err)
	}
	for _, picture := range pictures {
		content, err := os.ReadFile(picture)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range textInSVG.FindAllStringSubmatch(string(content), -1) {
			for _, hit := range stumbles(text[1]) {
				t.Errorf("%s: %s", picture, hit)
			}
		}
	}
}

// TestMessagesReadWell rejects the words above in messages, help and errors: in all string literals with a space outside of
// tests.
func TestMessagesReadWell(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		if strings.HasPrefix(p.dir, "internal/house") || strings.HasPrefix(p.dir, "internal/testing") || strings.HasPrefix(p.dir, "bench") {
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil || !strings.Contains(text, " ") {
					return true
				}
				for _, hit := range stumbles(text) {
					t.Errorf("%s: %s", place(literal.Pos()), hit)
				}
				return true
			})
		}
	}
}
