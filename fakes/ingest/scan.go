package ingest

import "strconv"

// shape is what a pass over JSON text finds without decoding it.
type shape struct {
	depth int // the deepest nesting of objects and lists
	lone  int // where the first lone surrogate escape stands; -1 without one
}

// scan walks over text that need not be JSON at all. Go's decoder would turn a lone surrogate into U+FFFD without a word.
func scan(text []byte) shape {
	s := shape{lone: -1}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			s.depth = max(s.depth, depth)
		case '}', ']':
			depth--
		case '"':
			end, lone := scanString(text, i+1)
			if s.lone < 0 {
				s.lone = lone
			}
			i = end
		}
	}
	return s
}

// scanString walks from behind an opening quote to the closing one, or to the end of the text, and looks for a surrogate
// escape without its other half.
func scanString(text []byte, from int) (end, lone int) {
	lone = -1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i, lone
		case '\\':
			unit, ok := escape(text, i)
			if !ok {
				i++ // an escape of one character
				continue
			}
			if low, ok := escape(text, i+6); isHigh(unit) && ok && isLow(low) {
				i += 11
				continue
			}
			if lone < 0 && (isHigh(unit) || isLow(unit)) {
				lone = i
			}
			i += 5
		}
	}
	return len(text), lone
}

// escape reads the six characters of a \uXXXX.
func escape(text []byte, at int) (unit uint64, ok bool) {
	if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
	return unit, err == nil
}

func isHigh(unit uint64) bool { return unit >= 0xD800 && unit <= 0xDBFF }

func isLow(unit uint64) bool { return unit >= 0xDC00 && unit <= 0xDFFF }
