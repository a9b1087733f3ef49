// Arrays that Python hands over by name. A table has for each name the member of a struct that is set, the shape
// in letters and when it is needed; the type of its elements is that of the member. What does not fit the table
// raises a TypeError that names the array, what was expected and what was got.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <vector>

#include "array.h"

namespace unspool {

// What the letters of shapes stand for. One that is not set takes the size that the first array has there.
class Sizes {
  public:
    static constexpr int64_t UNKNOWN = -1;

    Sizes() { std::fill(std::begin(of_), std::end(of_), UNKNOWN); }
    Sizes(std::initializer_list<std::pair<char, int64_t>> sizes) : Sizes() {
        for (const auto& [letter, size] : sizes) of(letter) = size;
    }

    int64_t& of(char letter) { return of_[letter - 'A']; }

    // Whether an array has the shape "N,GH": N rows of G times H. A single unknown letter is set.
    bool fit(const char* shape, const Array& array) {
        int d = 0;
        for (; *shape; ++d) {
            if (d == array.dimensions || d == Array::MOST) return false;
            if (std::isupper(*shape) && of(*shape) == UNKNOWN && !std::isalnum(shape[1])) of(*shape) = array.shape[d];
            if (next(shape) != array.shape[d]) return false;
        }
        return d == array.dimensions;
    }

    // (N, G·H) = (5, 64)
    std::string describe(const char* shape) {
        std::string letters, numbers;
        while (*shape) {
            if (!letters.empty()) letters += ", ", numbers += ", ";
            for (const char* at = shape; *at && *at != ','; ++at) letters += (at == shape ? "" : "·") + std::string(1, *at);
            const int64_t size = next(shape);
            numbers += size < 0 ? "?" : std::to_string(size);
        }
        return "(" + letters + ") = (" + numbers + ")";
    }

  private:
    // The size that a part of a shape stands for; on to the next part. Negative: unknown.
    int64_t next(const char*& shape) {
        int64_t size = 1;
        bool known = true;
        for (; *shape && *shape != ','; ++shape) {
            const int64_t factor = std::isdigit(*shape) ? *shape - '0' : of(*shape);
            known &= factor != UNKNOWN;
            size *= factor;
        }
        if (*shape) ++shape;
        return known ? size : UNKNOWN;
    }

    int64_t of_[26];
};

// A field is needed in calls of one of its `uses` that have all of its `traits`, and taken in no others. Names may
// come twice, one after the other, with other traits.
constexpr unsigned OPTIONAL = 1u << 31;  // a trait: taken but not needed

template <class Owner>
struct Field {
    const char* name;
    const char* shape;
    unsigned uses, traits;
    Number number;
    void (*set)(Owner&, void*);

    bool taken(unsigned use, unsigned its_traits) const {
        return (uses & use) && !(traits & ~OPTIONAL & ~its_traits);
    }
};

template <class>
struct Member;
template <class Owner_, class Element_>
struct Member<Element_* Owner_::*> {
    using Owner = Owner_;
    using Element = Element_;
};

template <auto member, class M = Member<decltype(member)>>
Field<typename M::Owner> field(const char* name, const char* shape, unsigned uses = ~0u, unsigned traits = 0) {
    return {name, shape, uses, traits, NUMBER_OF<std::remove_const_t<typename M::Element>>,
            [](typename M::Owner& owner, void* data) { owner.*member = static_cast<typename M::Element*>(data); }};
}

inline std::string describe_object(nanobind::handle object) {
    Array array;
    if (!describe(object.ptr(), array)) return "a " + std::string(Py_TYPE(object.ptr())->tp_name);
    std::string text = array.number.name() + " (";
    for (int d = 0; d < array.dimensions; ++d)
        text += (d ? ", " : "") + (d < Array::MOST ? std::to_string(array.shape[d]) : "…");
    return text + ")" + (array.on_cpu ? "" : " elsewhere than on the CPU") + (array.contiguous ? "" : ", not contiguous");
}

// Where the data of an array lies that was described before, if it could be; null as shape: any.
inline void* checked(const std::string& kernel, const char* name, nanobind::handle given, bool is_array,
                     const Array& array, const char* shape, Number number, Sizes& sizes) {
    if (!is_array || !(array.number == number) || !array.contiguous || !array.on_cpu ||
        (shape && !sizes.fit(shape, array)))
        throw nanobind::type_error(("the kernel " + kernel + " takes " + name + " as contiguous " + number.name() +
                                    (shape ? " " + sizes.describe(shape) : "") + ", not " + describe_object(given))
                                       .c_str());
    return array.data;
}

// The same of one array on its own.
inline void* read_array(const std::string& kernel, const char* name, nanobind::handle given, const char* shape,
                        Number number, Sizes& sizes) {
    Array array;
    const bool is_array = describe(given.ptr(), array);
    return checked(kernel, name, given, is_array, array, shape, number, sizes);
}

// Sizes must be multiples of what registers hold.
inline void check_width(const std::string& kernel, const char* name, int64_t size, int64_t multiple) {
    if (size <= 0 || size % multiple)
        throw nanobind::value_error(("the kernel " + kernel + " takes " + name + " as a multiple of " +
                                     std::to_string(multiple) + ", not " + std::to_string(size)).c_str());
}

template <class Owner>
class Fields {
  public:
    Fields(std::initializer_list<Field<Owner>> fields) : fields_(fields) {
        for (const auto& field : fields) keys_.push_back(PyUnicode_InternFromString(field.name));
    }

    // Sets members of `owner` to the arrays of `given`. None counts as not given, and so does an empty array that is
    // not needed.
    void read(const std::string& kernel, nanobind::handle given, unsigned use, unsigned traits, Sizes& sizes,
              Owner& owner) const {
        if (!PyDict_Check(given.ptr())) throw nanobind::type_error("arrays are given as a dict of names");
        Py_ssize_t met = 0;
        for (size_t i = 0; i < fields_.size();) {
            const Field<Owner>* taken = nullptr;
            const size_t first = i;
            for (; i < fields_.size() && keys_[i] == keys_[first]; ++i)
                if (!taken && fields_[i].taken(use, traits)) taken = &fields_[i];
            PyObject* const object = PyDict_GetItem(given.ptr(), keys_[first]);
            met += object != nullptr;
            Array array;
            const bool is_array = object && describe(object, array);
            const bool needed = taken && !(taken->traits & OPTIONAL);
            const bool given_one = object && object != Py_None && (needed || !is_array || array.size() > 0);
            if (!taken) {
                if (given_one) refuse_name(kernel, fields_[first].name, use, traits);
            } else if (given_one) {
                taken->set(owner, checked(kernel, taken->name, object, is_array, array, taken->shape,
                                          taken->number, sizes));
            } else if (needed) {
                throw nanobind::type_error(("the kernel " + kernel + " needs " + taken->name + ", contiguous " +
                                            taken->number.name() + " " + sizes.describe(taken->shape) +
                                            ", which is not given")
                                               .c_str());
            }
        }
        if (met == PyDict_Size(given.ptr())) return;
        for (const auto [key, _] : nanobind::borrow<nanobind::dict>(given)) {
            const auto same = [&](PyObject* own) { return PyUnicode_Compare(own, key.ptr()) == 0; };
            if (std::none_of(keys_.begin(), keys_.end(), same))
                refuse_name(kernel, nanobind::str(key).c_str(), use, traits);
        }
    }

  private:
    [[noreturn]] void refuse_name(const std::string& kernel, const char* name, unsigned use, unsigned traits) const {
        std::string known;
        for (const auto& field : fields_)
            if (field.taken(use, traits)) known += (known.empty() ? "" : ", ") + std::string(field.name);
        throw nanobind::type_error(
            ("the kernel " + kernel + " takes no array " + name + "; it takes " + known).c_str());
    }

    std::vector<Field<Owner>> fields_;
    std::vector<PyObject*> keys_;
};

}  // namespace unspool
