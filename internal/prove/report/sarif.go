package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// SARIF writes a result for each finding, in the Static Analysis Results Interchange Format 2.1.0:
// for code scanning. A result's place is the plan file that replays it, and its object; results of
// two reports with the same fingerprint are the same finding. The level of what is flaky is note.
func SARIF(w io.Writer, r Report) error {
	r = Redact(r)
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "operon prove", Rules: []sarifRule{}}},
		Automation: sarifAutomation{"operon-prove/"},
		Invocations: []sarifInvocation{{
			Successful: !r.Interrupted, Start: r.Started.UTC().Format(time.RFC3339), End: r.Started.Add(r.Took).UTC().Format(time.RFC3339),
		}},
		Artifacts: []sarifArtifact{}, Results: []sarifResult{}, Columns: "utf16CodeUnits",
	}
	for i := range r.Findings {
		run.add(&r.Findings[i])
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Automation  sarifAutomation   `json:"automationDetails"`
	Invocations []sarifInvocation `json:"invocations"`
	Artifacts   []sarifArtifact   `json:"artifacts"`
	Results     []sarifResult     `json:"results"`
	Columns     string            `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name  string      `json:"name"`
	Rules []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string        `json:"id"`
	Short   sarifText     `json:"shortDescription"`
	Full    sarifText     `json:"fullDescription"`
	Help    sarifText     `json:"help"`
	Default sarifDefault  `json:"defaultConfiguration"`
	Tags    sarifRuleTags `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifRuleTags struct {
	Tags []string `json:"tags"`
}

type sarifAutomation struct {
	ID string `json:"id"`
}

type sarifInvocation struct {
	Successful bool   `json:"executionSuccessful"`
	Start      string `json:"startTimeUtc"`
	End        string `json:"endTimeUtc"`
}

type sarifArtifact struct {
	Location sarifURI `json:"location"`
}

type sarifURI struct {
	URI string `json:"uri"`
}

type sarifResult struct {
	Rule         string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   map[string]any    `json:"properties"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifURI    `json:"artifactLocation"`
	Region   sarifRegion `json:"region"`
}

type sarifRegion struct {
	Line int `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Full string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// add adds a finding, with its rule where that is a new one.
func (s *sarifRun) add(f *finding.Finding) {
	about := about(f.Property)
	level := about.level
	if f.Flaky {
		level = levelNote
	}
	sum := sha256.Sum256([]byte(f.Key()))
	s.Results = append(s.Results, sarifResult{
		Rule: clean(string(f.Property)), RuleIndex: s.rule(&about), Level: level,
		Message: sarifText{messageOf(f)}, Locations: s.locations(f),
		Fingerprints: map[string]string{"operonFinding/v1": hex.EncodeToString(sum[:])},
		Properties:   map[string]any{"class": clean(string(f.Class)), "flaky": f.Flaky},
	})
}

func (s *sarifRun) rule(p *property) int {
	id := clean(string(p.id))
	if at := slices.IndexFunc(s.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == id }); at >= 0 {
		return at
	}
	s.Tool.Driver.Rules = append(s.Tool.Driver.Rules, sarifRule{
		ID: id, Short: sarifText{clean(p.title)}, Full: sarifText{strings.TrimSpace(upper(clean(p.broken)) + ". " + p.means)},
		Help: sarifText{strings.TrimSpace(clean(p.title) + ". " + p.means + " " + p.advice)}, Default: sarifDefault{p.level},
		Tags: sarifRuleTags{[]string{"kubernetes", "operator", "reliability"}},
	})
	return len(s.Tool.Driver.Rules) - 1
}

// messageOf says a finding in a few sentences.
func messageOf(f *finding.Finding) string {
	text := clean(short(f.Message, shown)) + "."
	for _, one := range faultsOf(f) {
		text += " Fault: " + one + "."
	}
	if f.File != "" {
		text += " Replay: " + ReplayCommand(f.File)
	}
	return text
}

// locations are the plan file, which becomes one of the artifacts, and the object.
func (s *sarifRun) locations(f *finding.Finding) []sarifLocation {
	var location sarifLocation
	if f.File != "" {
		uri := sarifURI{(&url.URL{Path: clean(f.File)}).String()}
		if !slices.Contains(s.Artifacts, sarifArtifact{uri}) {
			s.Artifacts = append(s.Artifacts, sarifArtifact{uri})
		}
		location.Physical = &sarifPhysical{uri, sarifRegion{1}}
	}
	if f.Of != nil {
		kind := clean(f.Of.Kind)
		location.Logical = []sarifLogical{{Name: kind, Full: strings.Trim(clean(f.Of.APIVersion)+"/"+kind, "/"), Kind: "object"}}
	}
	if location.Physical == nil && location.Logical == nil {
		return nil
	}
	return []sarifLocation{location}
}
