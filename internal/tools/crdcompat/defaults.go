package crdcompat

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// judgeDefaults adds a finding for each field that an object lacks and that is read with another default than before. Nothing is lost: the
// object can be written, and gets the new value.
func (c *Comparison) judgeDefaults(version, name string, fields map[string]any) {
	before, after := c.before[version], c.after[version]
	if before == nil || after == nil {
		return
	}
	differences(fields, before.Normalized(fields), after.Normalized(fields), "", func(path string, was, is any) {
		c.defaulted[version+" "+anyIndex(path)] = true
		c.addObject(DefaultChanged, version, path, defaultChange(was, is)+" in objects without the field, also in stored ones", name)
	})
}

// differences calls found for each field that the stored object lacks, and that has different values, or is missing, in one of two others.
func differences(stored, was, is any, at string, found func(path string, was, is any)) {
	if list, both := was.([]any); both {
		other, _ := is.([]any)
		kept, _ := stored.([]any)
		if len(list) == len(other) && len(list) == len(kept) {
			for i := range list {
				differences(kept[i], list[i], other[i], fmt.Sprintf("%s[%d]", at, i), found)
			}
		}
		return
	}
	before, both := was.(map[string]any)
	after, also := is.(map[string]any)
	if !both || !also {
		return
	}
	kept, _ := stored.(map[string]any)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		path := join(at, key)
		_, wasMap := before[key].(map[string]any)
		_, isMap := after[key].(map[string]any)
		if value, stored := kept[key]; stored || wasMap && isMap {
			differences(value, before[key], after[key], path, found)
			continue
		}
		if !reflect.DeepEqual(before[key], after[key]) {
			found(path, before[key], after[key])
		}
	}
}

// compareDefault adds a notice about a default that no stored object has, because all of them have the field.
func (w walk) compareDefault(at string, was, is *apiextensionsv1.JSONSchemaProps) {
	before, after := valueOf(was.Default), valueOf(is.Default)
	if reflect.DeepEqual(before, after) {
		return
	}
	for place := range maps.Keys(w.defaulted) {
		if within(place, w.version+" "+at) {
			return
		}
	}
	w.notice(DefaultChanged, at, defaultChange(before, after)+"; no stored object lacks the field")
}

func valueOf(raw *apiextensionsv1.JSON) any {
	var value any
	if raw == nil || json.Unmarshal(raw.Raw, &value) != nil {
		return nil
	}
	return value
}

func defaultChange(was, is any) string {
	switch {
	case was == nil:
		return "would get the default " + shown(is)
	case is == nil:
		return "would lose the default " + shown(was)
	}
	return fmt.Sprintf("the default was %s and would be %s", shown(was), shown(is))
}

// maxShown is the length of a value in a message, in bytes.
const maxShown = 80

func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "…"
	}
	return string(text)
}
