package licenses

import (
	"path"
	"slices"
	"strings"
)

// known lists licenses by their SPDX identifiers, with the sentences that a text must contain. Texts are compared without
// case, line breaks and comment characters.
var known = []struct {
	id        string
	sentences []string
	without   string
}{
	{"Apache-2.0", []string{"apache license version 2.0, january 2004", "terms and conditions for use, reproduction, and distribution"}, ""},
	{"BSD-2-Clause", []string{redistribution, "redistributions in binary form must reproduce"}, endorsement},
	{"BSD-3-Clause", []string{redistribution, "redistributions in binary form must reproduce", endorsement}, "all advertising materials"},
	{"ISC", []string{"distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice and this permission notice appear in all copies"}, ""},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy of this software", "without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense"}, ""},
	{"MPL-2.0", []string{"mozilla public license", "secondary license", "this source code form is subject to the terms of the mozilla public license, v. 2.0"}, ""},
}

const (
	redistribution = "redistribution and use in source and binary forms, with or without modification, are permitted"
	endorsement    = "to endorse or promote products derived from this software without specific prior written permission"
)

// Identify returns the SPDX expression of a license text, or "" for an unknown text. For a text with several licenses, each
// for a part of the source code, it returns a conjunction.
func Identify(text []byte) string {
	plain := strings.Join(strings.Fields(strings.NewReplacer("*", " ", "#", " ", "//", " ", ">", " ").Replace(strings.ToLower(string(text)))), " ") + " "
	if strings.Contains(plain, "commons clause") { // revokes what the license grants
		return ""
	}
	var found []string
	for _, license := range known {
		if holdsAll(plain, license.sentences) && (license.without == "" || !strings.Contains(plain, license.without)) {
			found = append(found, license.id)
		}
	}
	return strings.Join(found, " AND ")
}

func holdsAll(text string, sentences []string) bool {
	for _, sentence := range sentences {
		if !strings.Contains(text, sentence) {
			return false
		}
	}
	return true
}

// Declared returns the SPDX expressions of modules by their paths, from the license files in their root directories. A module
// without a license file, or with an unknown one, has no expression.
func Declared(packages []Linked, files []File) map[string]string {
	byModule := map[string][]File{}
	for _, file := range files {
		byModule[path.Dir(file.Path)] = append(byModule[path.Dir(file.Path)], file)
	}
	declared := map[string]string{}
	for _, one := range packages {
		if _, done := declared[one.Module]; !done {
			declared[one.Module] = expression(byModule[one.Module])
		}
	}
	return declared
}

// expression combines the license files of a directory.
func expression(files []File) string {
	var found []string
	for _, file := range files {
		name := strings.ToLower(path.Base(file.Path))
		if strings.Contains(name, "notice") || strings.Contains(name, "patents") {
			continue
		}
		id := Identify(file.Content)
		if id == "" && strings.HasPrefix(name, "licen") {
			return ""
		}
		for _, each := range strings.Split(id, " AND ") {
			if each != "" && !slices.Contains(found, each) {
				found = append(found, each)
			}
		}
	}
	return strings.Join(found, " AND ")
}
