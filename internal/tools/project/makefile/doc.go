// Package makefile finds out what the recipes of a Makefile would run, without running anything: projects keep the
// arguments of their generators there, behind variables, conditions and line continuations, and nowhere else.
//
// [Parse] evaluates the variables as GNU make does (deferred and immediate ones, ?= and +=, define,
// those of a target), follows conditions and includes, and takes the recipes apart into
// simple commands of the shell ([File.Commands]). What only a shell could tell, such as the output of
// $(shell …) or a variable of the shell, is [Unknown] in the words that it would be part of: a word is
// never guessed. A condition that hangs on it counts as met.
//
// It is a reader of generator calls, not make: pattern rules, automatic variables beyond $@, $< and $^, and
// functions beyond those of text that generators' arguments are made with stay unknown.
package makefile
