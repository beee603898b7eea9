package up

import (
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/rbac"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/internal/tools/up/view"
)

// source is the source of a problem. Each source has at most one problem at a time.
type source string

// The sources, in the order in which their problems are shown.
const (
	fromBuild     source = "build"
	fromManifests source = "manifests"
	fromOperator  source = "operator"
	fromToken     source = "token"
)

var sources = []source{fromBuild, fromManifests, fromOperator, fromToken}

// problems holds the current problems.
type problems map[source]view.Problem

// set records an error of a source, or that it no longer has one.
func (p problems) set(from source, err error) {
	if err == nil {
		delete(p, from)
		return
	}
	p[from] = problemOf(err)
}

// problemOf converts an error. The first line is the title.
func problemOf(err error) view.Problem {
	var compile *process.CompileError
	if errors.As(err, &compile) {
		return view.Problem{Title: "the operator does not compile; the previous build keeps running", Lines: strings.Split(compile.Output, "\n")}
	}
	lines := strings.Split(err.Error(), "\n")
	return view.Problem{Title: lines[0], Lines: lines[1:]}
}

// list returns the problems in the order of their sources.
func (p problems) list() []view.Problem {
	var all []view.Problem
	for _, from := range sources {
		if problem, there := p[from]; there {
			all = append(all, problem)
		}
	}
	return all
}

// permissionProblem describes the permissions that the operator lacks, according to its log and the conditions in nodes, and
// the rules that grant them.
func (s *session) permissionProblem(nodes []*tree.Node) (view.Problem, bool) {
	return lacking(s.project, s.refused.With(reports(nodes)...).Rules())
}

// lacking describes rules that the operator lacks.
func lacking(p *project.Project, rules []rbacv1.PolicyRule) (view.Problem, bool) {
	if len(rules) == 0 {
		return view.Problem{}, false
	}
	problem := view.Problem{Title: fmt.Sprintf("the operator lacks permissions; add to the rules in %s:", roleFile(p))}
	for _, rule := range rules {
		problem.Lines = append(problem.Lines, rbac.Lines(rule)...)
	}
	return problem, true
}

// reports returns the messages in the conditions of the operator's objects.
func reports(nodes []*tree.Node) []string {
	var texts []string
	for _, node := range nodes {
		for _, condition := range tree.Conditions(node.Object) {
			texts = append(texts, condition.Message)
		}
	}
	return texts
}

// roleFile returns the manifest to add a rule to.
func roleFile(p *project.Project) string {
	for _, grant := range p.Grants {
		if grant.Role.Unstructured != nil && grant.Scope == project.ClusterScope {
			return grant.Role.File
		}
	}
	return "a ClusterRole in " + project.RBACFolder
}
