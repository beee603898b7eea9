package policies

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// misplaced is an error with its place.
type misplaced struct {
	pkg *loader.Package
	at  position
	err error
}

func (m *misplaced) Error() string { return m.err.Error() }

func (m *misplaced) Unwrap() error { return m.err }

// position is a loader.Node.
type position token.Pos

// Pos implements loader.Node.
func (p position) Pos() token.Pos { return token.Pos(p) }

// tell adds errors to the packages that they belong to, which report them with their places, and returns the others.
func tell(err error) error {
	var left []error
	for _, one := range flat(err) {
		var known *misplaced
		if !errors.As(one, &known) {
			left = append(left, one)
			continue
		}
		known.pkg.AddError(loader.ErrFromNode(known.err, known.at))
	}
	return errors.Join(left...)
}

func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, flat(one)...)
	}
	return all
}

// wrong returns an error about the whole marker.
func (p placed) wrong(err error) error {
	if err == nil {
		return nil
	}
	return p.wrongIn("", 0, err)
}

// wrongIn returns an error at an offset in bytes into a part of the marker.
func (p placed) wrongIn(part string, by int, err error) error {
	err = fmt.Errorf("+%s:name=%s: %w", markerName, p.Name, err)
	comment := p.comment()
	if comment == nil {
		return err
	}
	at := comment.Pos()
	if begins := strings.Index(comment.Text, part); part != "" && begins >= 0 {
		at += token.Pos(begins + by)
	}
	return &misplaced{pkg: p.pkg, at: position(at), err: err}
}

// comment returns the comment that contains the marker.
func (p placed) comment() *ast.Comment {
	for _, group := range p.file.Comments {
		for _, comment := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if !strings.HasPrefix(text, "+"+markerName) {
				continue
			}
			if value, err := vocabulary[0].Parse(text); err == nil && reflect.DeepEqual(value, p.Marker) {
				return comment
			}
		}
	}
	return nil
}
