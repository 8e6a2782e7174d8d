package spec

import "strings"

// kind tells the blocks of a Markdown file apart, as far as a contract needs it.
type kind int

const (
	heading kind = iota
	paragraph
	quote
	fence
)

// block is a heading, a fenced text, or lines without an empty one between them. Tables and lists are paragraphs.
type block struct {
	kind kind
	// level is the number of a heading's hashes.
	level int
	// text has its lines joined by blanks, without the marks of a heading or a quote.
	text string
	// line is where the block begins, counted from 1; lines is how many it has.
	line, lines int
}

// blocks cuts a Markdown text. It complains about what a renderer would show in another way than it reads here.
func blocks(text string, complain func(line int, format string, args ...any)) []block {
	var all []block
	var contents [][]string // the lines of each block
	begin := func(b block, content string) {
		b.lines = 1
		all, contents = append(all, b), append(contents, []string{content})
	}
	open := false // whether the last block goes on with the next line
	fenced := false
	for i, raw := range strings.Split(text, "\n") {
		line := strings.TrimRight(raw, " \t\r")
		last := len(all) - 1
		switch {
		case fenced:
			all[last].lines++
			fenced = line != "```"
		case line == "":
			open = false
		case strings.HasPrefix(line, "```"):
			begin(block{kind: fence, line: i + 1}, "")
			open, fenced = false, true
		case strings.HasPrefix(line, "#"):
			hashes := len(line) - len(strings.TrimLeft(line, "#"))
			title := line[hashes:]
			if !strings.HasPrefix(title, " ") || hashes > 6 {
				complain(i+1, "%q is no heading: it needs one to six hashes and a blank", line)
			}
			begin(block{kind: heading, level: hashes, line: i + 1}, title)
			open = false
		default:
			k, content := paragraph, strings.TrimSpace(line)
			if quoted, ok := strings.CutPrefix(line, ">"); ok {
				k, content = quote, strings.TrimSpace(quoted)
			}
			if open && all[last].kind == k {
				contents[last] = append(contents[last], content)
				all[last].lines++
				break
			}
			begin(block{kind: k, line: i + 1}, content)
			open = true
		}
	}
	if fenced {
		complain(all[len(all)-1].line, "the fence is never closed")
	}
	for i := range all {
		all[i].text = strings.TrimSpace(strings.Join(contents[i], " "))
	}
	return all
}
