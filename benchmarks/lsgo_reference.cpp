// One point at a time, the CEC'2013 LSGO functions as the technical report writes them (Li et al. 2013).
//
// This is our own code, written for `lsgo_throughput.py` from the report's formulas; it is not the competition's. It
// stands for what a plain C++ implementation of the suite costs: constants that do not depend on the point are computed
// once, everything else where the formula has it. All numbers arrive as doubles on stdin and leave as text on stdout.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

typedef std::vector<double> Vector;

static double number() {
    double value = 0;
    if (fread(&value, sizeof value, 1, stdin) != 1) throw 1;
    return value;
}

static Vector numbers(size_t count) {
    Vector values(count);
    for (double& value : values) value = number();
    return values;
}

static double oscillated(double x) {
    if (x == 0) return 0;
    double logarithm = std::log(std::fabs(x)), first = x > 0 ? 10.0 : 5.5, second = x > 0 ? 7.9 : 3.1;
    double size = std::exp(logarithm + 0.049 * (std::sin(first * logarithm) + std::sin(second * logarithm)));
    return x > 0 ? size : -size;
}

enum Base { NOTHING, ELLIPTIC, RASTRIGIN, ACKLEY, SCHWEFEL, SPHERE, ROSENBROCK };

struct Part {
    Base base;
    double weight;
    Vector members, optimum, rotation, ladder, powers;
    mutable Vector moved, turned;

    void prepare() {
        size_t size = members.size();
        moved.resize(size), turned.resize(size), ladder.resize(size), powers.resize(size);
        for (size_t i = 0; i < size; i++) {
            ladder[i] = size > 1 ? double(i) / (size - 1) : 0.0;
            powers[i] = std::pow(base == ELLIPTIC ? 1e6 : std::sqrt(10.0), ladder[i]);
        }
    }

    double warped(size_t i) const {
        double u = oscillated(turned[i]);
        return u > 0 ? std::pow(u, 1 + 0.2 * ladder[i] * std::sqrt(u)) : u;
    }

    double value(const double* x) const {
        size_t size = members.size();
        for (size_t i = 0; i < size; i++) moved[i] = x[size_t(members[i])] - optimum[i];
        if (rotation.empty()) turned = moved;
        else for (size_t i = 0; i < size; i++) {
            turned[i] = 0;
            for (size_t j = 0; j < size; j++) turned[i] += rotation[i * size + j] * moved[j];
        }
        return weight * formula(size);
    }

    double formula(size_t size) const {
        double sum = 0, squares = 0, cosines = 0;
        switch (base) {
            case ELLIPTIC:
                for (size_t i = 0; i < size; i++) { double z = oscillated(turned[i]); sum += powers[i] * z * z; }
                return sum;
            case RASTRIGIN:
                for (size_t i = 0; i < size; i++) {
                    double z = powers[i] * warped(i);
                    sum += z * z - 10 * std::cos(2 * M_PI * z) + 10;
                }
                return sum;
            case ACKLEY:
                for (size_t i = 0; i < size; i++) {
                    double z = powers[i] * warped(i);
                    squares += z * z, cosines += std::cos(2 * M_PI * z);
                }
                return -20 * std::exp(-0.2 * std::sqrt(squares / size)) - std::exp(cosines / size) + 20 + M_E;
            case SCHWEFEL:
                for (size_t i = 0; i < size; i++) { sum += warped(i); squares += sum * sum; }
                return squares;
            case SPHERE:
                for (size_t i = 0; i < size; i++) sum += turned[i] * turned[i];
                return sum;
            case ROSENBROCK:
                for (size_t i = 0; i + 1 < size; i++) {
                    double z = turned[i] + 1, valley = z * z - (turned[i + 1] + 1);
                    sum += 100 * valley * valley + turned[i] * turned[i];
                }
                return sum;
            default: return 0;
        }
    }
};

int main() {
    size_t dimension = size_t(number()), count = size_t(number()), points = size_t(number()), repeats = size_t(number());
    std::vector<Part> parts(count);
    for (Part& part : parts) {
        part.base = Base(int(number())), part.weight = number();
        size_t size = size_t(number()), rotated = size_t(number());
        part.members = numbers(size), part.optimum = numbers(size), part.rotation = numbers(rotated * size * size);
        part.prepare();
    }
    Vector batch = numbers(points * dimension), values(points);
    for (size_t repeat = 0; repeat < repeats; repeat++) {
        std::clock_t began = std::clock();
        for (size_t i = 0; i < points; i++) {
            values[i] = 0;
            for (const Part& part : parts) values[i] += part.value(&batch[i * dimension]);
        }
        std::printf("%.17g\n", double(std::clock() - began) / CLOCKS_PER_SEC);
    }
    for (double value : values) std::printf("%.17g\n", value);
}
